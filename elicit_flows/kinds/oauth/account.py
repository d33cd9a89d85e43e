"""Which account at the provider was connected."""

from __future__ import annotations

import base64
from typing import Any

from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints
from elicit_flows.lib import oauth
from elicit_flows.lib.http import strict
from elicit_flows.values import Secret

Account = tuple[str | None, str | None]

_IDS = ("sub", "id", "login")
_LABELS = ("preferred_username", "login", "username", "nickname", "name", "display_name")


class AccountMismatch(Exception):
    """The provider's own statements about the account contradict each other. ``str`` is safe to show."""


def find(
    config: OAuthProvider,
    endpoints: Endpoints,
    tokens: oauth.Tokens,
    nonce: str | None,
    dpop_key: Secret | None = None,
) -> Account:
    """The account's id and a label without e-mail addresses; None where the provider does not say.

    Raises AccountMismatch when the userinfo is about another subject than the ID token (OpenID Connect Core, 5.3.2).
    """
    subject = subject_of(tokens.id_token, issuer=endpoints.issuer, client_id=config.client_id, nonce=nonce)
    if subject is None and config.quirks.account_source == "token":
        return _account(tokens.said, config.quirks)
    said = _userinfo(config, endpoints.userinfo, tokens.access_token, dpop_key) if endpoints.userinfo else {}
    if subject is None:
        return _account(said, config.quirks)
    if "sub" not in said:
        return subject, None
    if said["sub"] != subject:
        raise AccountMismatch("The provider describes another account than the one that was connected.")
    return subject, _label(said)


def subject_of(id_token: str | None, *, issuer: str | None, client_id: str, nonce: str | None = None) -> str | None:
    """``sub`` of an ID token that came straight from the token endpoint; None when there is none to read.

    Its signature is not looked at: TLS to the token endpoint vouches for it (OpenID Connect Core, 3.1.3.7, item 6)
    and nobody is signed in by it. Raises AccountMismatch when it was issued by or for somebody else, or for
    another attempt than the one that sent ``nonce``.
    """
    claims = _payload(id_token) if id_token else None
    if claims is None or not isinstance(claims.get("sub"), str):
        return None
    audience = claims.get("aud")
    if client_id not in (audience if isinstance(audience, list) else [audience]):
        raise AccountMismatch("The provider answered with an identity that was issued for somebody else.")
    if issuer is not None and claims.get("iss") != issuer:
        raise AccountMismatch("The provider answered with an identity of another issuer.")
    if nonce is not None and claims.get("nonce") != nonce:
        raise AccountMismatch("The provider answered with an identity of another attempt.")
    return _id(claims)


def _payload(id_token: str) -> dict[str, Any] | None:
    parts = id_token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = strict.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    return claims if isinstance(claims, dict) else None


def _userinfo(config: OAuthProvider, endpoint: str, access_token: str, dpop_key: Secret | None) -> dict[str, Any]:
    """A provider that does not say who it is leaves the account unnamed; the connection works all the same."""
    key = dpop_key.reveal() if dpop_key else None
    asking = oauth.Client(config.client_id, quirks=config.quirks, dpop_key=key)
    try:
        return oauth.userinfo(endpoint, asking, access_token=access_token)
    except (oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
        return {}


def _account(said: dict[str, Any], quirks: oauth.Quirks) -> Account:
    """Where this provider says it, else under the usual names."""
    found = _id({"id": oauth.at(said, quirks.account_id)} if quirks.account_id else said)
    return found, _label({"name": oauth.at(said, quirks.account_label)} if quirks.account_label else said)


def _id(said: dict[str, Any]) -> str | None:
    for name in _IDS:
        value = said.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and 0 < len(value) <= 255 and value.isprintable():
            return value
    return None


def _label(said: dict[str, Any]) -> str | None:
    shown = (oauth.visible(said.get(name), 100) for name in _LABELS)
    return next((label for label in shown if label and "@" not in label), None)
