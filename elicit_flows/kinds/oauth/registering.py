"""How this service describes itself to a provider: when it registers (RFC 7591), and in the document that its own
``client_id`` names (draft-ietf-oauth-client-id-metadata-document).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from elicit_flows import errors
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.lib import oauth
from elicit_flows.values import Json

NAME = "Elicit Flows"


def description(config: OAuthProvider, redirect_uri: str) -> Json:
    """No ``scope``: agents may ask for more than the operator, and a provider would hold us to what is said here."""
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
    if config.dpop == "required":
        said["dpop_bound_access_tokens"] = True
    return said


def document(config: OAuthProvider, redirect_uri: str) -> Json:
    """What stands at the address that is our ``client_id``; with private_key_jwt the public half of our key."""
    said = {"client_id": config.client_id, **description(config, redirect_uri)}
    if config.token_auth == "private_key_jwt" and config.client_secret:
        said["jwks"] = {"keys": [oauth.public_key(config.client_secret.reveal())]}
    return said


def register(config: OAuthProvider, redirect_uri: str) -> oauth.Registered:
    """At most 20 seconds. Raises ProviderUnavailable."""
    try:
        found = oauth.discover(config.issuer or "")
        if found.registration_endpoint is None:
            raise errors.ProviderUnavailable("The provider does not let services register themselves.")
        return oauth.register(found.registration_endpoint, description(config, redirect_uri))
    except oauth.Transient as trouble:
        raise errors.ProviderUnavailable(str(trouble), retry_after=2) from None
    except oauth.OAuthError as refusal:
        raise errors.ProviderUnavailable(f"The provider does not register this service: {refusal}") from None
