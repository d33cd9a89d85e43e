"""Kind oauth against the certified provider: connect, refresh, revoke, with each way of proving who we are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import ECKey, RSAKey

from elicit_flows.kinds.oauth import refresh, revoke
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.lib import oauth
from elicit_flows.values import Answer, Claim, Finish, Grant, Secret, Visit
from tests.doubles.policy import loopback_allowed
from tests.kinds.connecting import KIND
from tests.kinds.contract import KindContract
from tests.support.http_user import HttpUser
from tests.support.op import Op

BACK = "http://127.0.0.1:9/callback/real"
SECRET = "a-secret-of-forty-characters:+for%the-te"
RSA = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"})
METHODS: dict[str, tuple[str, str | None]] = {
    "client_secret_basic": ("client_secret_basic", SECRET),
    "client_secret_post": ("client_secret_post", SECRET),
    "rsa": ("private_key_jwt", RSA.as_pem(private=True).decode()),
    "ec": ("private_key_jwt", json.dumps(EC.as_dict(private=True))),
    "none": ("none", None),
}


@pytest.fixture(scope="module")
def shared(new_op: Callable[..., Op]) -> Op:
    op = new_op(name="real-drive", role="oauth", scopes=["files.read"])
    for client_id, (method, secret) in METHODS.items():
        extra: dict[str, Any] = {"token_endpoint_auth_method": method}
        if method == "private_key_jwt":
            key = RSA if client_id == "rsa" else EC
            extra |= {"jwks": {"keys": [key.as_dict(private=False)]}}
            extra |= {"token_endpoint_auth_signing_alg": "RS256" if client_id == "rsa" else "ES256"}
        op.add_client(client_id, BACK, secret=secret if method.startswith("client_secret") else None, **extra)
    return op


@pytest.fixture
def op(shared: Op) -> Iterator[Op]:
    shared.reset()
    oauth.forget()
    with loopback_allowed():
        yield shared


def config(op: Op, client_id: str = "client_secret_basic") -> OAuthProvider:
    method, secret = METHODS[client_id]
    return OAuthProvider(
        slug="real",
        name="Real Drive",
        client_id=client_id,
        client_secret=Secret(secret) if secret else None,
        issuer=op.issuer,
        token_auth=method,
        scopes=("openid",),
    )


def away(asked: OAuthProvider, person: HttpUser, *presses: str) -> tuple[Visit, Answer]:
    claim = Claim("https://idp.example.com", "u-1")
    visit = Visit("el_1", claim, {"provider": "real", "scopes": ["files.read"]}, asked, BACK, "st4te")
    leave = KIND.begin(visit)
    with person.stopping_at(BACK):
        person.open(leave.url)
        person.carry_on(*presses)
        assert person.stopped, person.text
        fields = parse_qs(urlsplit(person.location).query)
    back = KindContract.returning(visit, leave)
    KIND.check_answer(back, Answer(fields))
    return back, Answer(fields)


def connect(asked: OAuthProvider, person: HttpUser) -> Grant:
    outcome = KIND.resume(*away(asked, person, "alice", "allow"))
    assert isinstance(outcome, Finish)
    assert outcome.grant, outcome.error
    return outcome.grant


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
