"""The tables of the configuration file and the keys of each: its rule, whether it is required, its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elicit_flows.config_file.agents import check_api_key, check_webhook_secret, spend_limit
from elicit_flows.config_file.brands import RULES, own_brand, picture
from elicit_flows.config_file.connection_metadata import MOST_ADDRESSES, api_url, lookup_url, metadata
from elicit_flows.config_file.identity_providers import REQUIRED, header, public_keys
from elicit_flows.config_file.notifications import (
    MAX_CHAT,
    MAX_PUSH_HOSTS,
    address,
    check_chat,
    check_chat_of_all,
    push_host,
)
from elicit_flows.config_file.payment_accounts import (
    MAX_PAYEES,
    MAX_WEBHOOK_SECRETS,
    api_base,
    check_secret_key,
    check_signing_secret,
    client_id,
    connected_account,
    payee,
)
from elicit_flows.config_file.providers import (
    credential_fields,
    find_url,
    preset,
    scope_words,
    variables,
    verify,
)
from elicit_flows.config_file.values import (
    Rule,
    boolean,
    browser_url,
    dead_grant,
    issuer,
    list_of,
    mcp_host,
    one_of,
    openid_scopes,
    resource,
    return_url,
    scope,
    secret,
    slug,
    text,
    url,
    whole_number,
)
from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT
from elicit_flows.kinds.payment.providers import PROVIDERS
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.kinds.x402.params import MAX_AMOUNT
from elicit_flows.kinds.x402.wallet import PROVIDER as WALLETS
from elicit_flows.models.notification import PER_AGENT, PER_PERSON
from elicit_flows.models.payment_account import MAX_FEE, MAX_GRACE, USUAL_GRACE

MAX_RESOURCES = 10
TOKEN_AUTHS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")
GRANTS = ("authorization_code", "device_code")
PKCES = ("S256", "off")
PARS = ("auto", "required", "off")
REGISTRATIONS = ("off", "dynamic", "document")
DPOPS = ("off", "required")


@dataclass(frozen=True, slots=True)
class Key:
    """``default`` is the value in a table without this key."""

    rule: Rule
    required: bool = False
    default: Any = None


SINGLE = {"brand", "notifications"}  # written once, as [brand]; the others as [[agent]], any number of times
TABLES: Mapping[str, Mapping[str, Key]] = {
    "identity_provider": {
        "slug": Key(slug, required=True),
        "name": Key(text(100), default=""),
        "icon": Key(picture),
        "order": Key(whole_number(0, 1000), default=0),
        "issuer": Key(issuer, required=True),
        "sort": Key(one_of(*REQUIRED), default="openid"),
        "client_id": Key(text(500), default=""),
        "client_secret": Key(secret()),
        "scopes": Key(openid_scopes, default=["openid"]),
        "max_age": Key(whole_number(0, 10 * 366 * 86400)),
        "introspect": Key(boolean, default=False),
        "sign_in_url": Key(browser_url, default=""),
        "jwks_url": Key(url, default=""),
        "keys": Key(public_keys, default=[]),
        "header": Key(header, default=""),
        "audiences": Key(list_of(text(500)), default=[]),
        "managed_hosts": Key(list_of(mcp_host), default=[]),
        "managed_refusal": Key(one_of("page", "fail"), default="page"),
    },
    "provider": {
        "slug": Key(slug, required=True),
        "preset": Key(preset, default=""),
        "variables": Key(variables, default={}),
        "name": Key(text(200)),
        "logo": Key(picture),
        "sort": Key(one_of("oauth", "credentials"), default=""),
        "issuer": Key(issuer, default=""),
        "authorize_url": Key(url, default=""),
        "token_url": Key(url, default=""),
        "revocation_url": Key(url, default=""),
        "userinfo_url": Key(lookup_url, default=""),
        "device_authorization_url": Key(url, default=""),
        "client_id": Key(text(500), default=""),
        "client_secret": Key(secret()),
        "app_key": Key(secret()),
        "token_auth": Key(one_of(*TOKEN_AUTHS), default="client_secret_basic"),
        "scopes": Key(list_of(scope), default=[]),
        "scope_words": Key(scope_words, default={}),
        "grant": Key(one_of(*GRANTS), default="authorization_code"),
        "pkce": Key(one_of(*PKCES), default="S256"),
        "registration": Key(one_of(*REGISTRATIONS), default="off"),
        "par": Key(one_of(*PARS), default="auto"),
        "dpop": Key(one_of(*DPOPS), default="off"),
        "resources": Key(list_of(resource, most=MAX_RESOURCES), default=[]),
        "dead_grant": Key(dead_grant, default=[]),
        "metadata": Key(metadata, default=[]),
        "metadata_url": Key(lookup_url, default=""),
        "managed_by": Key(slug, default=""),
        "api_urls": Key(list_of(api_url, most=MOST_ADDRESSES), default=[]),
        "fields": Key(credential_fields, default=[]),
        "find_url": Key(find_url, default=""),
        "verify": Key(verify),
    },
    "payment_account": {
        "slug": Key(slug, required=True),
        "provider": Key(one_of(*PROVIDERS, WALLETS), required=True),
        "client_id": Key(client_id, default=""),
        "secret_key": Key(secret(check_secret_key), required=True),
        "webhook_secrets": Key(list_of(secret(check_signing_secret), most=MAX_WEBHOOK_SECRETS), default=[]),
        "api_base": Key(api_base, default=""),
        "livemode": Key(boolean, default=False),
        "refund_mismatch": Key(boolean, default=False),
        "keep_late": Key(boolean, default=False),
        "allow_save": Key(boolean, default=False),
        "allow_mandates": Key(boolean, default=False),
        "renewal_grace": Key(whole_number(0, MAX_GRACE), default=USUAL_GRACE),
        "computes_tax": Key(boolean, default=False),
        "makes_invoices": Key(boolean, default=False),
        "connected_account": Key(connected_account, default=""),
        "application_fee_basis_points": Key(whole_number(0, MAX_FEE), default=0),
        "network": Key(one_of(*NETWORKS), default=""),
        "max_per_payment": Key(whole_number(1, MAX_AMOUNT)),
        "max_per_day": Key(whole_number(1, MAX_AMOUNT)),
        "payees": Key(list_of(payee, most=MAX_PAYEES), default=[]),
    },
    "agent": {
        "slug": Key(slug, required=True),
        "name": Key(text(200)),
        "logo": Key(picture),
        "site": Key(browser_url, default=""),
        "description": Key(text(300), default=""),
        "api_key": Key(secret(check_api_key)),
        "identity_providers": Key(list_of(slug), default=[]),
        "providers": Key(list_of(slug)),
        "payment_accounts": Key(list_of(slug), default=[]),
        "mcp_servers": Key(list_of(mcp_host), default=[]),
        "spend_limits": Key(list_of(spend_limit), default=[]),
        "import_connections": Key(boolean, default=False),
        "notify": Key(boolean, default=False),
        "require_user_token": Key(boolean, default=False),
        "tokens_never_leave": Key(boolean, default=False),
        "managed_access": Key(boolean, default=False),
        "user_token_audiences": Key(list_of(text(500)), default=[]),
        "requests_per_minute": Key(whole_number(1, 10_000_000)),
        "return_urls": Key(list_of(return_url), default=[]),
        "webhook_url": Key(url, default=""),
        "webhook_secret": Key(secret(check_webhook_secret)),
        "brand": Key(own_brand),
    },
    "brand": {name: Key(rule, default=default) for name, (rule, default) in RULES.items()},
    "notifications": {
        "email": Key(boolean, default=False),
        "chat": Key(list_of(secret(check_chat_of_all), most=MAX_CHAT), default=[]),
        "webhook_url": Key(url, default=""),
        "webhook_secret": Key(secret(check_webhook_secret)),
        "push": Key(boolean, default=False),
        "push_hosts": Key(list_of(push_host, most=MAX_PUSH_HOSTS), default=[]),
        "per_person": Key(whole_number(1, 10_000), default=PER_PERSON),
        "per_agent": Key(whole_number(1, 10_000_000), default=PER_AGENT),
    },
    "recipient": {
        "slug": Key(slug, required=True),
        "iss": Key(text(MAX_ISSUER), required=True),
        "sub": Key(text(MAX_SUBJECT), required=True),
        "email": Key(address, default=""),
        "chat": Key(list_of(secret(check_chat), most=MAX_CHAT), default=[]),
    },
}
