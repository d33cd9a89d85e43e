"""The tables of a configuration file and their keys (contract, section 3), as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elicit_flows.configure.credentials import credential_fields, find_url, verify
from elicit_flows.configure.identities import NEEDED, header, public_keys
from elicit_flows.configure.keys import api_key, secret, webhook_secret
from elicit_flows.configure.payments import (
    MOST_WEBHOOK_SECRETS,
    api_base,
    payment_provider,
    secret_key,
    signing_secret,
)
from elicit_flows.configure.sorts import preset, variables
from elicit_flows.configure.spending import spend_limit
from elicit_flows.configure.values import (
    Reader,
    issuer,
    list_of,
    one_of,
    openid_scopes,
    resource,
    return_url,
    scope,
    slug,
    text,
    url,
    whole,
    yes_or_no,
)

MOST_RESOURCES = 10
TOKEN_AUTHS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")
GRANTS = ("authorization_code", "device_code")
PKCES = ("S256", "off")
PARS = ("auto", "required", "off")
REGISTRATIONS = ("off", "dynamic", "document")
DPOPS = ("off", "required")


@dataclass(frozen=True, slots=True)
class Key:
    """``default`` is what a table that leaves the key out says; None: nothing."""

    read: Reader
    required: bool = False
    default: Any = None


TABLES: Mapping[str, Mapping[str, Key]] = {
    "identity_provider": {
        "slug": Key(slug, required=True),
        "issuer": Key(issuer, required=True),
        "sort": Key(one_of(*NEEDED), default="openid"),
        "client_id": Key(text(500), default=""),
        "client_secret": Key(secret),
        "scopes": Key(openid_scopes, default=["openid"]),
        "max_age": Key(whole(0, 10 * 366 * 86400)),
        "introspect": Key(yes_or_no, default=False),
        "sign_in_url": Key(return_url, default=""),
        "jwks_url": Key(url, default=""),
        "keys": Key(public_keys, default=[]),
        "header": Key(header, default=""),
        "audiences": Key(list_of(text(500)), default=[]),
    },
    "provider": {
        "slug": Key(slug, required=True),
        "preset": Key(preset, default=""),
        "variables": Key(variables, default={}),
        "name": Key(text(200)),
        "sort": Key(one_of("oauth", "credentials"), default=""),
        "issuer": Key(issuer, default=""),
        "authorize_url": Key(url, default=""),
        "token_url": Key(url, default=""),
        "revocation_url": Key(url, default=""),
        "userinfo_url": Key(url, default=""),
        "device_authorization_url": Key(url, default=""),
        "client_id": Key(text(500), default=""),
        "client_secret": Key(secret),
        "token_auth": Key(one_of(*TOKEN_AUTHS), default="client_secret_basic"),
        "scopes": Key(list_of(scope), default=[]),
        "grant": Key(one_of(*GRANTS), default="authorization_code"),
        "pkce": Key(one_of(*PKCES), default="S256"),
        "registration": Key(one_of(*REGISTRATIONS), default="off"),
        "par": Key(one_of(*PARS), default="auto"),
        "dpop": Key(one_of(*DPOPS), default="off"),
        "resources": Key(list_of(resource, most=MOST_RESOURCES), default=[]),
        "fields": Key(credential_fields, default=[]),
        "find_url": Key(find_url, default=""),
        "verify": Key(verify),
    },
    "payment_account": {
        "slug": Key(slug, required=True),
        "provider": Key(payment_provider, required=True),
        "secret_key": Key(secret_key, required=True),
        "webhook_secrets": Key(list_of(signing_secret, most=MOST_WEBHOOK_SECRETS), default=[]),
        "api_base": Key(api_base, default=""),
        "livemode": Key(yes_or_no, default=False),
        "refund_mismatch": Key(yes_or_no, default=False),
        "keep_late": Key(yes_or_no, default=False),
    },
    "agent": {
        "slug": Key(slug, required=True),
        "name": Key(text(200)),
        "api_key": Key(api_key),
        "identity_providers": Key(list_of(slug), default=[]),
        "providers": Key(list_of(slug)),
        "payment_accounts": Key(list_of(slug), default=[]),
        "spend_limits": Key(list_of(spend_limit), default=[]),
        "import_connections": Key(yes_or_no, default=False),
        "require_user_token": Key(yes_or_no, default=False),
        "user_token_audiences": Key(list_of(text(500)), default=[]),
        "return_urls": Key(list_of(return_url), default=[]),
        "webhook_url": Key(url, default=""),
        "webhook_secret": Key(webhook_secret),
    },
}
