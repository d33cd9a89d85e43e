"""An OAuth 2.0 client (RFC 6749 with 6750, 7009, 7523, 7591, 7636, 7662, 8414, 8628, 8707, 9126, 9207, 9449)
on the guarded dialer.

Secrets are plain strings here and show in no repr.
"""

from elicit_flows.lib.oauth.assertion import public_key
from elicit_flows.lib.oauth.authorization import authorization_url, check_issuer, new_verifier
from elicit_flows.lib.oauth.client import Client, client_credentials, introspect, redeem, refresh, revoke, userinfo
from elicit_flows.lib.oauth.device import GRANT_TYPE as DEVICE_GRANT
from elicit_flows.lib.oauth.device import MOST_INTERVAL, DeviceCode, authorize_device, redeem_device
from elicit_flows.lib.oauth.dpop import hash_of, is_nonce, proof, thumbprint
from elicit_flows.lib.oauth.dpop import new_key as new_dpop_key
from elicit_flows.lib.oauth.errors import (
    ClientRefused,
    DiscoveryError,
    InvalidGrant,
    IssuerMismatch,
    NotYet,
    OAuthError,
    ProviderError,
    Transient,
)
from elicit_flows.lib.oauth.metadata import Metadata, discover, discovered, forget
from elicit_flows.lib.oauth.pushed import push
from elicit_flows.lib.oauth.quirks import PLAIN, Quirks, at, bend_url
from elicit_flows.lib.oauth.registration import Registered, register
from elicit_flows.lib.oauth.replies import SCOPE_TOKEN, Tokens, clean_code
from elicit_flows.lib.oauth.text import visible

__all__ = [
    "DEVICE_GRANT",
    "MOST_INTERVAL",
    "PLAIN",
    "SCOPE_TOKEN",
    "Client",
    "ClientRefused",
    "DeviceCode",
    "DiscoveryError",
    "InvalidGrant",
    "IssuerMismatch",
    "Metadata",
    "NotYet",
    "OAuthError",
    "ProviderError",
    "Quirks",
    "Registered",
    "Tokens",
    "Transient",
    "at",
    "authorization_url",
    "authorize_device",
    "bend_url",
    "check_issuer",
    "clean_code",
    "client_credentials",
    "discover",
    "discovered",
    "forget",
    "hash_of",
    "introspect",
    "is_nonce",
    "new_dpop_key",
    "new_verifier",
    "proof",
    "public_key",
    "push",
    "redeem",
    "redeem_device",
    "refresh",
    "register",
    "revoke",
    "thumbprint",
    "userinfo",
    "visible",
]
