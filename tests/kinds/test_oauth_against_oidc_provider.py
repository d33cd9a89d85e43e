"""Kind oauth at the certified provider: connect, refresh, revoke, with each method of client authentication."""

from __future__ import annotations

import pytest

from elicit_flows import oauth
from elicit_flows.domain.values import Finish
from elicit_flows.kinds.oauth import refresh, revoke
from tests.kinds.connecting import KIND
from tests.kinds.real_drive import METHODS, away, config, connect
from tests.support.http_user import HttpUser
from tests.support.op import Op


@pytest.mark.parametrize("client_id", METHODS)
def test_an_account_is_connected_refreshed_and_revoked(op: Op, http_user: HttpUser, client_id: str) -> None:
    asked = config(op, client_id)
    grant = connect(asked, http_user)
    assert set(grant.scopes) == {"openid", "files.read"}
    assert (grant.account_id, grant.account_label) == ("alice", "Alice")
    assert grant.refresh_token
    newer = refresh(asked, grant.refresh_token, grant.scopes, account_id=grant.account_id)
    assert newer.refresh_token not in (None, grant.refresh_token)
    assert newer.refresh_token
    assert revoke(asked, newer.refresh_token, "refresh_token")
    with pytest.raises(oauth.InvalidGrant):
        refresh(asked, newer.refresh_token, grant.scopes)


def test_t33_the_person_says_no(op: Op, http_user: HttpUser) -> None:
    outcome = KIND.resume(*away(config(op), http_user, "alice", "deny"))
    assert isinstance(outcome, Finish)
    assert outcome.status == "declined"
    assert op.counts().get("token", 0) == 0


def test_t83_where_nothing_rotates_the_refresh_token_goes_on(op: Op, http_user: HttpUser) -> None:
    op.change(rotate_refresh_tokens=False)
    grant = connect(config(op), http_user)
    assert grant.refresh_token
    for _ in range(2):
        assert refresh(config(op), grant.refresh_token, grant.scopes).refresh_token == grant.refresh_token


def test_t18_the_code_of_another_attempt_is_worth_nothing(op: Op, http_user: HttpUser) -> None:
    _, stolen = away(config(op), http_user, "alice", "allow")
    mine, _ = away(config(op), http_user, "alice", "allow")
    assert getattr(KIND.resume(mine, stolen), "code", None) == "invalid_grant"


def test_t84_trouble_at_the_token_endpoint_is_no_verdict(op: Op, http_user: HttpUser) -> None:
    grant = connect(config(op), http_user)
    assert grant.refresh_token
    for fault in ({"status": 503}, {"status": 429}, {"drop": True}):
        op.fault("token", times=1, **fault)
        with pytest.raises(oauth.Transient):
            refresh(config(op), grant.refresh_token, grant.scopes)
    assert refresh(config(op), grant.refresh_token, grant.scopes).access_token


def test_t86_a_revocation_endpoint_in_trouble_is_told(op: Op, http_user: HttpUser) -> None:
    grant = connect(config(op), http_user)
    op.fault("revocation", status=503, times=1)
    with pytest.raises(oauth.Transient):
        revoke(config(op), grant.access_token, "access_token")
    assert revoke(config(op), grant.access_token, "access_token")
    assert not any(one["active"] for one in op.issued("access_token") if one["value"] == grant.access_token.reveal())
