"""The metadata of an authorization server (RFC 8414; OpenID Connect Discovery 1.0)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from elicit_flows import http
from elicit_flows.oauth.cache import Cache
from elicit_flows.oauth.errors import DiscoveryError

log = logging.getLogger(__name__)

DEADLINE = 5.0
_ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "revocation_endpoint",
    "introspection_endpoint",
    "userinfo_endpoint",
    "jwks_uri",
    "pushed_authorization_request_endpoint",
    "registration_endpoint",
    "device_authorization_endpoint",
)


@dataclass(frozen=True)
class Metadata:
    """Endpoints have passed ``http.check_url``. Lists are None if the document does not have them."""

    issuer: str
    authorization_endpoint: str | None
    token_endpoint: str | None
    revocation_endpoint: str | None
    introspection_endpoint: str | None
    userinfo_endpoint: str | None
    jwks_uri: str | None
    pushed_authorization_request_endpoint: str | None
    registration_endpoint: str | None
    device_authorization_endpoint: str | None
    pkce_methods: tuple[str, ...] | None
    auth_methods: tuple[str, ...] | None
    sends_iss: bool
    requires_par: bool
    scopes: tuple[str, ...] | None = None
    grant_types: tuple[str, ...] | None = None
    reads_client_documents: bool = False  # draft-ietf-oauth-client-id-metadata-document

    def offers_s256(self) -> bool:
        """False only when the document lists the PKCE methods and S256 is not among them (RFC 8414, section 2)."""
        return self.pkce_methods is None or "S256" in self.pkce_methods

    def advertises_s256(self) -> bool:
        """Whether the document says so. MCP requires that (2026-07-28, "Authorization Code Protection")."""
        return self.pkce_methods is not None and "S256" in self.pkce_methods


def discover(issuer: str, *, for_mcp: bool = False) -> Metadata:
    """The metadata of exactly this issuer, at most ten minutes old. ``for_mcp``: it is looked for in the order that
    MCP prescribes. Raises DiscoveryError.
    """
    return (_known_for_mcp if for_mcp else _known).get(issuer)


def discovered(issuer: str) -> Metadata | None:
    """The metadata if it is cached. Makes no request."""
    return _known.peek(issuer)


def forget() -> None:
    """Forget all metadata, so that it is fetched again."""
    _known.clear()
    _known_for_mcp.clear()


def _fetch(issuer: str, *, for_mcp: bool = False) -> Metadata:
    parts = urlsplit(issuer)
    if parts.query:
        raise DiscoveryError("The issuer must not have a query.")
    path, base = parts.path.rstrip("/"), f"{parts.scheme}://{parts.netloc}"
    # OpenID Connect Discovery puts the issuer's path before the well-known name, RFC 8414 after it.
    before = f"{base}{path}/.well-known/openid-configuration"
    after = f"{base}/.well-known/oauth-authorization-server{path}"
    urls = [before, after]
    if for_mcp:  # MCP 2026-07-28, "Authorization Server Metadata Discovery"
        urls = [after, f"{base}/.well-known/openid-configuration{path}", *([before] if path else [])]
    for url in urls:
        document = _read(url)
        if document is not None:
            said = document.get("issuer")
            # An empty path and "/" are the same (RFC 3986, 6.2.3), and the vendor's MCP server writes the latter.
            if said != issuer and not (for_mcp and not path and said in (base, f"{base}/")):
                log.error("the metadata found at issuer %s names another issuer; it is not used", issuer)
                raise DiscoveryError("The provider's metadata names another issuer.")
            endpoints = {name: _endpoint(document, name) for name in _ENDPOINTS}
            return Metadata(
                issuer=said,
                pkce_methods=_strings(document, "code_challenge_methods_supported"),
                auth_methods=_strings(document, "token_endpoint_auth_methods_supported"),
                sends_iss=document.get("authorization_response_iss_parameter_supported") is True,
                requires_par=document.get("require_pushed_authorization_requests") is True,
                scopes=_strings(document, "scopes_supported"),
                grant_types=_strings(document, "grant_types_supported"),
                reads_client_documents=document.get("client_id_metadata_document_supported") is True,
                **endpoints,
            )
    raise DiscoveryError("The provider publishes no metadata.")


def _read(url: str) -> dict[str, Any] | None:
    """The document, or None if there is none at this address."""
    try:
        reply = http.send("GET", url, headers={"accept": "application/json"}, deadline=DEADLINE)
    except http.Refused as refusal:
        raise DiscoveryError(f"The address of the provider's metadata is refused: {refusal}") from None
    except http.Unreachable:
        raise DiscoveryError("The provider does not answer.") from None
    if 400 <= reply.status < 500 and reply.status != 429:
        return None
    if reply.status != 200:
        raise DiscoveryError("The provider's metadata is not available now.")
    try:
        document = reply.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DiscoveryError("The provider's metadata cannot be read.")
    return document


def _endpoint(document: dict[str, Any], name: str) -> str | None:
    url = document.get(name)
    if url is None:
        return None
    if not isinstance(url, str):
        raise DiscoveryError("The provider's metadata cannot be read.")
    try:
        http.check_url(url)
    except http.Refused as refusal:
        raise DiscoveryError(f"The provider's {name} is refused: {refusal}") from None
    return url


def _strings(document: dict[str, Any], name: str) -> tuple[str, ...] | None:
    values = document.get(name)
    return tuple(str(value) for value in values) if isinstance(values, list) else None


_known = Cache(_fetch)
_known_for_mcp = Cache(partial(_fetch, for_mcp=True))
