"""Visits of kind oauth against the certified provider, with each way of proving who we are."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc.jwk import ECKey, RSAKey

from elicit_flows.domain.values import Answer, Claim, Finish, Grant, Secret, Visit
from elicit_flows.kinds.oauth.provider import OAuthProvider
from tests.kinds.connecting import KIND
from tests.kinds.contract import KindContract
from tests.support.http_user import HttpUser
from tests.support.op import Op

BACK = "http://127.0.0.1:9/callback/real"
FILES, MAIL = "https://files.example.com/mcp", "https://mail.example.com/mcp"
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


def add_clients(op: Op, suffix: str = "", **more: Any) -> None:
    """One for each of METHODS."""
    for client_id, (method, secret) in METHODS.items():
        extra: dict[str, Any] = {"token_endpoint_auth_method": method, **more}
        if method == "private_key_jwt":
            key = RSA if client_id == "rsa" else EC
            extra |= {"jwks": {"keys": [key.as_dict(private=False)]}}
            extra |= {"token_endpoint_auth_signing_alg": "RS256" if client_id == "rsa" else "ES256"}
        op.add_client(client_id + suffix, BACK, secret=secret if method.startswith("client_secret") else None, **extra)


def config(op: Op, method: str = "client_secret_basic", suffix: str = "", **changes: Any) -> OAuthProvider:
    auth, secret = METHODS[method]
    usual: dict[str, Any] = {
        "slug": "real",
        "name": "Real Drive",
        "client_id": method + suffix,
        "client_secret": Secret(secret) if secret else None,
        "issuer": op.issuer,
        "token_auth": auth,
        "scopes": ("openid",),
    }
    return OAuthProvider(**usual | changes)


def leave(asked: OAuthProvider) -> tuple[Visit, str]:
    """The visit when the browser is back, and where it goes now."""
    claim = Claim("https://idp.example.com", "u-1")
    visit = Visit("el_1", claim, {"provider": "real", "scopes": ["files.read"]}, asked, BACK, "st4te")
    step = KIND.begin(visit)
    url = KIND.hand_over(visit, step.url) if step.hand_over else step.url
    return KindContract.returning(visit, step), url


def away(asked: OAuthProvider, person: HttpUser, *presses: str) -> tuple[Visit, Answer]:
    back, url = leave(asked)
    with person.stopping_at(BACK):
        person.open(url)
        person.carry_on(*presses)
        assert person.stopped, person.text
        fields = parse_qs(urlsplit(person.location).query)
    KIND.check_answer(back, Answer(fields))
    return back, Answer(fields)


def connect(asked: OAuthProvider, person: HttpUser) -> Grant:
    outcome = KIND.resume(*away(asked, person, "alice", "allow"))
    assert isinstance(outcome, Finish)
    assert outcome.grant, outcome.error
    return outcome.grant
