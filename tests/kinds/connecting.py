"""Visits of kind oauth to the double."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Again, Answer, Claim, Finish, Secret, Visit
from elicit_flows.kinds.oauth import OAuth
from elicit_flows.kinds.oauth.provider import OAuthProvider
from tests.doubles.provider import Provider
from tests.kinds.contract import KindContract

CALLBACK = "https://flows.example.com/callback/acme"
KIND = OAuth()


def by_issuer(provider: Provider, **changes: Any) -> OAuthProvider:
    """Configured by its issuer alone."""
    usual: dict[str, Any] = {
        "slug": "acme",
        "name": "Acme Drive",
        "client_id": provider.client_id,
        "client_secret": Secret(provider.client_secret) if provider.client_secret else None,
        "issuer": provider.issuer,
    }
    return OAuthProvider(**usual | changes)


def by_urls(provider: Provider, **changes: Any) -> OAuthProvider:
    """Configured by its URLs, no issuer and no metadata."""
    usual = {
        "issuer": None,
        "authorize_url": f"{provider.url}/authorize",
        "token_url": f"{provider.url}/token",
        "revocation_url": f"{provider.url}/revoke",
        "userinfo_url": f"{provider.url}/userinfo",
    }
    return by_issuer(provider, **usual | changes)


def visit(config: OAuthProvider, scopes: tuple[str, ...] = ("files.read",)) -> Visit:
    return Visit(
        elicitation="el_1",
        claim=Claim("https://idp.example.com", "u-1"),
        params={"provider": "acme", "scopes": list(scopes)},
        config=config,
        redirect_uri=CALLBACK,
        state="st4te",
    )


def away(provider: Provider, made: Visit) -> tuple[Visit, Answer]:
    """The user allows (or what ``decision`` says): the visit when the browser is back, and what it brings."""
    leave = KIND.begin(made)
    url = KIND.hand_over(made, leave.url) if leave.hand_over else leave.url
    return KindContract.returning(made, leave), Answer(provider.visit(url))


def connect(provider: Provider, config: OAuthProvider, scopes: tuple[str, ...] = ("files.read",)) -> Finish | Again:
    """The whole way."""
    back, answer = away(provider, visit(config, scopes))
    KIND.check_answer(back, answer)
    return KIND.resume(back, answer)
