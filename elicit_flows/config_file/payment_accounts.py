"""Rules of ``[[payment_account]]``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from elicit_flows import http, vault
from elicit_flows.config_file.values import InvalidValue, url
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.x402 import wallet
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Authorization, Payment, PaymentAccount

MAX_WEBHOOK_SECRETS = 5
MAX_PAYEES = 100
# Keys that only accounts of x402 have, those that they need, and those of accounts that people pay at.
_OF_WALLETS = ("network", "max_per_payment", "max_per_day", "payees")
_NEEDED_BY_WALLETS = ("network", "max_per_payment", "max_per_day", "client_id")
_OF_CHECKOUTS = (
    "webhook_secrets", "api_base", "refund_mismatch", "keep_late", "allow_save", "allow_mandates", "connected_account",
    "application_fee_basis_points", "computes_tax", "makes_invoices",
)  # fmt: skip
_KEY = re.compile(r"[!-~]{1,500}")
_CONNECTED = re.compile(r"acct_[A-Za-z0-9_]{1,59}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_OTHER_KEYS = ("pk_", "whsec_")  # Stripe's publishable keys and webhook secrets, which are easily mistaken for the key


def check_secret_key(key: Secret) -> None:
    """Raises InvalidValue. The key is sent in a header, so it has to be visible ASCII."""
    if not _KEY.fullmatch(key.reveal()):
        raise InvalidValue(sentence("must be 1 to 500 visible ASCII characters without spaces"))
    if key.reveal().startswith(_OTHER_KEYS):
        raise InvalidValue(
            sentence("must be a secret key, sk_… or rk_…; this is a publishable key or a webhook secret")
        )


def check_signing_secret(given: Secret) -> None:
    """Raises InvalidValue. Providers choose the format; Stripe's whsec_ is not that of Standard Webhooks."""
    if not given.reveal().strip():
        raise InvalidValue(sentence("must not be blank: anybody could sign with that"))


def api_base(value: Any) -> str:
    """The address of a payment provider's sandbox, to which the provider's SDK adds its paths."""
    if not http.policy().allow_loopback:
        raise InvalidValue(sentence("is for the sandbox; it is refused unless ELICIT_ALLOW_LOOPBACK is on"))
    address = url(value)
    if address.endswith("/") or "?" in address or len(address) > 500:
        raise InvalidValue(sentence("must be at most 500 characters without a slash at the end and without a query"))
    return address


def client_id(value: Any) -> str:
    """The public name of the secret key, at providers where it has one."""
    if not isinstance(value, str) or not _CLIENT_ID.fullmatch(value):
        raise InvalidValue(sentence("must be 1 to 200 of A-Z a-z 0-9 _ -"))
    return value


def connected_account(value: Any) -> str:
    """The account of another business at the provider."""
    if not isinstance(value, str) or not _CONNECTED.fullmatch(value):
        raise InvalidValue(sentence("must be acct_ and 1 to 59 of A-Z a-z 0-9 _"))
    return value


def payee(value: Any) -> str:
    """An address that a wallet may pay."""
    if not isinstance(value, str) or not wallet.ADDRESS.fullmatch(value):
        raise InvalidValue(sentence("must be an address: 0x and 40 hexadecimal digits"))
    return value


def needs_webhook_secret(provider: str) -> bool:
    """Whether webhooks of this provider are refused as long as the account has no webhook secret."""
    return provider != wallet.PROVIDER and providers.get(provider).signed


def conflicts(values: Json, given: Collection[str], stored: PaymentAccount | None) -> Iterator[tuple[str, str]]:
    """What is wrong with the values together, and with changing ``stored`` to them, as (key, message)."""
    if stored and wallet.PROVIDER in (stored.provider, values["provider"]) and stored.provider != values["provider"]:
        yield "provider", sentence("cannot change to or from x402; give the other account a slug of its own")
    elif values["provider"] == wallet.PROVIDER:
        yield from _wallet_conflicts(values, stored)
    else:
        yield from _checkout_conflicts(values, stored)


def _checkout_conflicts(values: Json, stored: PaymentAccount | None) -> Iterator[tuple[str, str]]:
    """For an account that is paid."""
    yield from _key_conflicts(values)
    plug_in, provider = providers.get(values["provider"]), values["provider"]
    for name in _OF_WALLETS:
        if values[name]:
            yield name, sentence("must not be set: only accounts of x402 have it")
    if plug_in.has_client_id and not values["client_id"]:
        yield "client_id", sentence("is missing: keys of %(provider)s have one", provider=provider)
    if values["client_id"] and not plug_in.has_client_id:
        yield "client_id", sentence("must not be set: keys of %(provider)s have none", provider=provider)
    yield from _not_offered(values)
    if values["connected_account"] and not plug_in.connects:
        what = sentence("must not be set: %(provider)s has no connected accounts", provider=provider)
        yield "connected_account", what
    if values["application_fee_basis_points"] and not values["connected_account"]:
        what = sentence("must not be set without connected_account: your own account needs no fee")
        yield "application_fee_basis_points", what
    if stored and Payment.objects.filter(account=stored).exists():
        yield from _unchanged(values, stored, ("provider", "livemode", "connected_account"))


def _not_offered(values: Json) -> Iterator[tuple[str, str]]:
    """What is switched on, and the provider does not have."""
    plug_in, provider = providers.get(values["provider"]), values["provider"]
    if values["allow_save"] and "save" not in plug_in.modes:
        yield "allow_save", sentence("is true, but %(provider)s has no mode save; leave it out", provider=provider)
    if values["allow_mandates"] and "mandate" not in plug_in.modes:
        what = sentence("is true, but %(provider)s has no mode mandate; leave it out", provider=provider)
        yield "allow_mandates", what
    if values["computes_tax"] and not plug_in.computes_tax:
        yield "computes_tax", sentence("is true, but %(provider)s computes no tax; leave it out", provider=provider)
    if values["makes_invoices"] and not plug_in.makes_invoices:
        yield "makes_invoices", sentence("is true, but %(provider)s makes no invoices; leave it out", provider=provider)


def _unchanged(values: Json, stored: PaymentAccount, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in names:
        if getattr(stored, name) != values[name]:
            yield name, "cannot change once there are payments; give the other account a slug of its own"


def _key_of_wallet(values: Json) -> Iterator[tuple[str, str]]:
    """Whether the key is that of the address: somebody who mistypes one would pay from another wallet."""
    try:
        address = vault.wallet_address(values["secret_key"])
    except Unavailable:
        yield "provider", sentence("needs the package eth-account, see requirements-extras.txt")
    else:
        if not address or address.lower() != values["client_id"].lower():
            yield "client_id", sentence("must be the address that secret_key belongs to, 0x and 40 hexadecimal digits")


def _wallet_conflicts(values: Json, stored: PaymentAccount | None) -> Iterator[tuple[str, str]]:
    """For an account that pays."""
    for name in _NEEDED_BY_WALLETS:
        if not values[name]:
            yield name, sentence("is missing: accounts of x402 need it")
    for name in _OF_CHECKOUTS:
        if values[name]:
            yield name, sentence("must not be set: accounts of x402 have none")
    if (values["max_per_day"] or 0) < (values["max_per_payment"] or 0):
        yield "max_per_day", sentence("must not be less than max_per_payment")
    known = NETWORKS.get(values["network"])
    if known and values["livemode"] and known.test:
        yield "livemode", sentence("is true, but no real money moves on this network")
    if known and not values["livemode"] and not known.test:
        yield "livemode", sentence("is false, but real money moves on this network; set livemode = true")
    yield from _key_of_wallet(values)
    if stored and Authorization.objects.filter(account=stored).exists():
        yield from _unchanged(values, stored, ("network", "client_id"))


def _key_conflicts(values: Json) -> Iterator[tuple[str, str]]:
    """What is wrong with the key, the mode and the address together."""
    prefixes = providers.get(values["provider"]).keys
    key = values["secret_key"].reveal()
    live = next((live for prefix, live in prefixes.items() if key.startswith(prefix)), None)
    if not prefixes:
        live = values["livemode"]  # the key does not tell, so the mode says to which of its provider's hosts it goes
    if live is None:
        yield (
            "secret_key",
            sentence(
                "must begin with one of %(beginnings)s: so do the keys of %(provider)s",
                beginnings=_alternatives(prefixes),
                provider=values["provider"],
            ),
        )
    if live and values["api_base"]:
        yield "api_base", sentence("must not be set with a live key: such a key is sent to its own provider alone")
    if live and not values["livemode"]:
        yield "livemode", sentence("is false, but secret_key is a live key; set livemode = true, or use a test key")
    if values["livemode"] and live is False:
        live_prefixes = _alternatives(prefix for prefix, live in prefixes.items() if live)
        yield "livemode", sentence("is true, but secret_key is no live key (%(beginnings)s)", beginnings=live_prefixes)


def _alternatives(prefixes: Iterable[str]) -> str:
    return ", ".join(f"{prefix}…" for prefix in prefixes)


def set_account_secrets(row: PaymentAccount, key: Secret, webhook_secrets: list[Secret]) -> list[str]:
    """Put the sealed secrets on the row; the caller saves it. Returns the names of those that differ."""
    current = vault.account(row)
    pairs = {
        "secret_key": (current.secret_key, key),
        "webhook_secrets": (list(current.webhook_secrets), webhook_secrets),
    }
    changed = [name for name, (old, new) in pairs.items() if old != new]
    if changed:
        vault.seal_account(row, key, webhook_secrets)
    return changed
