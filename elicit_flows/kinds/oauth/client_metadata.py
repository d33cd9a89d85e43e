"""The metadata with which this service describes itself to a provider: at registration (RFC 7591), and as the document
that its ``client_id`` names (draft-ietf-oauth-client-id-metadata-document).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Json
from elicit_flows.kinds.oauth.provider import OAuthProvider, client, resolve
from elicit_flows.lib import ids

NAME = "Elicit Flows"


def client_metadata(config: OAuthProvider, redirect_uri: str) -> Json:
    """The client metadata (RFC 7591, section 2).

    There is no ``scope``: agents may ask for more scopes than the operator, and a provider would limit us to those
    given here.
    """
    home = urlsplit(redirect_uri)
    said: Json = {
        "client_name": NAME,
        "redirect_uris": [] if config.by_device else [redirect_uri],
        "grant_types": [oauth.DEVICE_GRANT if config.by_device else "authorization_code", "refresh_token"],
        "response_types": [] if config.by_device else ["code"],
        "token_endpoint_auth_method": config.token_auth,
    }
    if home.scheme == "https":
        said["client_uri"] = f"https://{home.netloc}/"
    if config.mcp:  # required by MCP 2026-07-28, "Application Type and Redirect URI Constraints"
        said["application_type"] = "web" if home.scheme == "https" else "native"
    if config.dpop == "required":
        said["dpop_bound_access_tokens"] = True
    return said


def client_document(config: OAuthProvider, redirect_uri: str, *, managed: bool = False) -> Json:
    """The document at the address that is our ``client_id``; with private_key_jwt it contains our public key.

    ``managed``: an organisation decides who may connect, so assertions are presented too (RFC 7523).
    """
    said = {"client_id": config.client_id, **client_metadata(config, redirect_uri)}
    if managed:
        said["grant_types"].append(oauth.JWT_BEARER)
    if config.token_auth == "private_key_jwt" and config.client_secret:
        said["jwks"] = {"keys": [oauth.public_key(config.client_secret.reveal())]}
    return said


def register(config: OAuthProvider, redirect_uri: str) -> oauth.Registered:
    """Register this service at the provider; takes at most 20 seconds. Raises ProviderUnavailable."""
    try:
        found = oauth.discover(config.issuer or "", for_mcp=bool(config.mcp))
        if found.registration_endpoint is None:
            raise errors.ProviderUnavailable("The provider does not offer dynamic client registration.")
        metadata = client_metadata(config, redirect_uri)
        if oauth.JWT_BEARER in (found.grant_types or ()):
            metadata["grant_types"].append(oauth.JWT_BEARER)
        return oauth.register(found.registration_endpoint, metadata)
    except oauth.Transient as trouble:
        raise errors.ProviderUnavailable(str(trouble), retry_after=2) from None
    except oauth.OAuthError as refusal:
        raise errors.ProviderUnavailable(f"The provider does not register this service: {refusal}") from None


def is_forgotten(config: OAuthProvider) -> bool:
    """Whether the provider says that it does not know this service as a client, asked with a refresh token that nobody
    has. False if it gives no clear answer. Takes at most 10 seconds.
    """
    try:
        oauth.refresh(resolve(config).token, client(config), refresh_token=ids.token(), deadline=5.0)
    except oauth.ProviderError as refusal:
        return refusal.code in oauth.CLIENT_LOST
    except oauth.OAuthError:
        pass
    return False
