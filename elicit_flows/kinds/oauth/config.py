"""An OAuth provider as its operator configured it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elicit_flows.lib.oauth import PLAIN, Quirks
from elicit_flows.values import Secret


@dataclass(frozen=True, slots=True)
class OAuthProvider:
    """``issuer`` given: endpoints that are None come from metadata discovery (RFC 8414, OpenID Connect Discovery).

    With ``token_auth`` private_key_jwt the ``client_secret`` is the private key, PEM or JWK, and ``issuer`` is needed.
    """

    slug: str
    name: str
    client_id: str
    client_secret: Secret | None = None
    issuer: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    revocation_url: str | None = None
    userinfo_url: str | None = None
    device_authorization_url: str | None = None
    token_auth: str = "client_secret_basic"  # client_secret_post | private_key_jwt | none
    scopes: tuple[str, ...] = ()
    grant: str = "authorization_code"  # device_code: the person types a code at the provider, on any device (RFC 8628)
    pkce: str = "S256"  # "off" only with a warning
    registration: str = "off"  # dynamic | document: how the provider comes to know us
    par: str = "auto"  # required | off: whether the request is pushed where the provider offers that and needs it not
    dpop: str = "off"  # required
    resources: tuple[str, ...] = ()  # what tokens are to be for (RFC 8707)
    quirks: Quirks = PLAIN
    scope_words: Mapping[str, str] = field(default_factory=dict)  # what a scope lets an agent do, for the person

    @property
    def by_device(self) -> bool:
        return self.grant == "device_code"
