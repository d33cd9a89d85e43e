"""Tokens bound to a key (RFC 9449) and to a resource (RFC 8707)."""

from __future__ import annotations

from dataclasses import replace

import httpx2
import pytest

from elicit_flows import oauth
from elicit_flows.domain.values import Finish, Grant
from elicit_flows.kinds.oauth import refresh, revoke
from tests.doubles.provider import Provider
from tests.kinds import connecting
from tests.kinds.connecting import by_issuer
from tests.kinds.real_drive import FILES, MAIL, METHODS, config, connect
from tests.support.http_user import HttpUser
from tests.support.op import Op


def ask_who(op: Op, grant: Grant, key: str, **said: str) -> httpx2.Response:
    """The provider's userinfo, as an agent asks it; again with the nonce that it wants."""
    token, url = grant.access_token.reveal(), f"{op.issuer}/me"
    for _ in range(2):
        proof = oauth.proof(key, "GET", url, ath=oauth.access_token_hash(token), **said)
        answer = op.http.get("/me", headers={"authorization": f"DPoP {token}", "dpop": proof})
        said = {"nonce": answer.headers.get("dpop-nonce", "")}
        if answer.status_code != 401 or not said["nonce"]:
            break
    return answer


@pytest.mark.parametrize("nonce", [False, True])
@pytest.mark.parametrize("client_id", METHODS)
def test_tokens_are_bound_from_the_first_to_the_last(op: Op, http_user: HttpUser, client_id: str, nonce: bool) -> None:
    op.change(dpop_nonce=nonce)
    asked = config(op, client_id, "-strict", dpop="required")
    grant = connect(asked, http_user)
    assert (grant.token_type, grant.account_label) == ("DPoP", "Alice")
    assert grant.refresh_token
    assert grant.dpop_key
    key = grant.dpop_key.reveal()
    newer = refresh(asked, grant.refresh_token, grant.scopes, "alice", grant.dpop_key)
    assert newer.token_type == "DPoP"
    assert newer.refresh_token
    bound = [one.get("jkt") for one in op.issued("access_token")][-2:]
    assert bound == [oauth.thumbprint(key)] * 2
    assert ask_who(op, newer, key).json()["sub"] == "alice"
    assert ask_who(op, newer, oauth.new_dpop_key()).status_code == 401
    assert revoke(asked, newer.refresh_token, "refresh_token")


def test_each_attempt_has_a_key_of_its_own(op: Op, http_user: HttpUser) -> None:
    asked = config(op, dpop="required")
    assert connect(asked, http_user).dpop_key != connect(asked, http_user).dpop_key


def test_a_refresh_with_another_key_brings_nothing(op: Op, http_user: HttpUser) -> None:
    asked = config(op, "none", "-strict", dpop="required")
    grant = connect(asked, http_user)
    assert grant.refresh_token
    stolen = replace(grant, dpop_key=None)
    for key in (stolen.dpop_key, connect(asked, http_user).dpop_key):
        with pytest.raises((oauth.InvalidGrant, oauth.ProviderError)):
            refresh(asked, grant.refresh_token, grant.scopes, "alice", key)


def test_a_provider_that_does_not_bind_where_it_must_is_refused(provider: Provider) -> None:
    outcome = connecting.connect(provider, by_issuer(provider, dpop="required"))
    assert isinstance(outcome, Finish)
    assert (outcome.status, outcome.grant) == ("failed", None)
    provider.reply = {"token_type": "DPoP"}
    outcome = connecting.connect(provider, by_issuer(provider))
    assert (outcome.status, outcome.grant) == ("failed", None)  # type: ignore[union-attr]


def test_tokens_are_for_the_resource_that_the_operator_names(op: Op, http_user: HttpUser) -> None:
    asked = config(op, resources=(FILES,))
    grant = connect(asked, http_user)
    assert grant.refresh_token
    assert grant.account_id == "alice"
    newer = refresh(asked, grant.refresh_token, grant.scopes).refresh_token
    assert [one.get("aud") for one in op.issued("access_token")][-2:] == [FILES, FILES]
    assert newer
    with pytest.raises(oauth.ProviderError, match="invalid_target"):
        refresh(replace(asked, resources=(MAIL,)), newer, grant.scopes)


def test_several_resources_are_each_named(provider: Provider) -> None:
    connecting.connect(provider, by_issuer(provider, resources=(FILES, MAIL)))
    assert provider.seen("token")[0].body.count(b"resource=") == 2
