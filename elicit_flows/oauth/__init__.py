"""An OAuth 2.0 client (RFC 6749 with 6750, 7009, 7523, 7591, 7636, 7662, 8414, 8628, 8707, 9126, 9207, 9449, 9728).

It is Authlib's client, on the guarded HTTP client.

docs/adr/0025-authlib.md says what Authlib does and what is added here. Secrets are plain strings in this package, and
no repr shows them.
"""

from elicit_flows.oauth.assertion import request_token as token_for_assertion
from elicit_flows.oauth.assertion import signed as sign_assertion
from elicit_flows.oauth.authorization_request import authorization_url, new_verifier, push
from elicit_flows.oauth.client import (
    Client,
    Registered,
    client_credentials,
    fetch,
    introspect,
    redeem,
    refresh,
    refused_client,
    register,
    revoke,
    userinfo,
)
from elicit_flows.oauth.device_code import DEVICE_GRANT, MOST_INTERVAL, DeviceCode, authorize_device, redeem_device
from elicit_flows.oauth.dpop import access_token_hash, is_nonce, proof, thumbprint
from elicit_flows.oauth.dpop import new_key as new_dpop_key
from elicit_flows.oauth.errors import (
    CLIENT_LOST,
    IDENTITY_CHANGED,
    ClientRefused,
    DiscoveryError,
    InvalidGrant,
    IssuerMismatch,
    NotAllowed,
    NotSignedIn,
    NotYet,
    OAuthError,
    ProviderError,
    Transient,
)
from elicit_flows.oauth.id_jag import ID_TOKEN, JWT_BEARER, REFRESH_TOKEN
from elicit_flows.oauth.id_jag import Wanted as WantedIdJag
from elicit_flows.oauth.id_jag import exchange as exchange_for_id_jag
from elicit_flows.oauth.id_jag import redeem as redeem_id_jag
from elicit_flows.oauth.metadata import Metadata, discover, discovered, forget
from elicit_flows.oauth.private_key_jwt import public_key
from elicit_flows.oauth.protected_resource import ProtectedResource, bearer_challenge, find_resource
from elicit_flows.oauth.quirks import (
    PLAIN,
    TYPE_SAID,
    DeadGrant,
    Quirks,
    adapt_url,
    normalize_response,
    split_scopes,
    value_at,
)
from elicit_flows.oauth.responses import SCOPE_TOKEN, Tokens, check_issuer, clean_code, read_tokens, visible
from elicit_flows.oauth.ways import Assertion, DescribedCall, Installation, OAuth1, ScopeSet, places_in

__all__ = [
    "CLIENT_LOST",
    "DEVICE_GRANT",
    "IDENTITY_CHANGED",
    "ID_TOKEN",
    "JWT_BEARER",
    "MOST_INTERVAL",
    "PLAIN",
    "REFRESH_TOKEN",
    "SCOPE_TOKEN",
    "TYPE_SAID",
    "Assertion",
    "Client",
    "ClientRefused",
    "DeadGrant",
    "DescribedCall",
    "DeviceCode",
    "DiscoveryError",
    "Installation",
    "InvalidGrant",
    "IssuerMismatch",
    "Metadata",
    "NotAllowed",
    "NotSignedIn",
    "NotYet",
    "OAuth1",
    "OAuthError",
    "ProtectedResource",
    "ProviderError",
    "Quirks",
    "Registered",
    "ScopeSet",
    "Tokens",
    "Transient",
    "WantedIdJag",
    "access_token_hash",
    "adapt_url",
    "authorization_url",
    "authorize_device",
    "bearer_challenge",
    "check_issuer",
    "clean_code",
    "client_credentials",
    "discover",
    "discovered",
    "exchange_for_id_jag",
    "fetch",
    "find_resource",
    "forget",
    "introspect",
    "is_nonce",
    "new_dpop_key",
    "new_verifier",
    "normalize_response",
    "places_in",
    "proof",
    "public_key",
    "push",
    "read_tokens",
    "redeem",
    "redeem_device",
    "redeem_id_jag",
    "refresh",
    "refused_client",
    "register",
    "revoke",
    "sign_assertion",
    "split_scopes",
    "thumbprint",
    "token_for_assertion",
    "userinfo",
    "value_at",
    "visible",
]
