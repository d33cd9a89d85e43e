"""Payment accounts: what single values must look like, and what they must be together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from elicit_flows import vault
from elicit_flows.configure import keys
from elicit_flows.configure.faults import Wrong
from elicit_flows.configure.values import one_of, url
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers import PROVIDERS
from elicit_flows.lib import http
from elicit_flows.models import Payment, PaymentAccount
from elicit_flows.values import Json, Secret

MOST_WEBHOOK_SECRETS = 5  # while one replaces another there are two
_KEY = re.compile(r"[!-~]{1,500}")
_NO_KEYS = ("pk_", "whsec_")


def payment_provider(value: Any) -> str:
    return str(one_of(*PROVIDERS)(value))


def secret_key(value: Any) -> Secret:
    return checked_secret_key(keys.secret(value))


def checked_secret_key(given: Secret) -> Secret:
    """It goes into a header. Raises Wrong."""
    key = given.reveal()
    if not _KEY.fullmatch(key):
        raise Wrong("must be 1 to 500 visible ASCII characters without spaces")
    if key.startswith(_NO_KEYS):
        raise Wrong("must be a secret key, sk_… or rk_…; this is a publishable key or a webhook secret")
    return given


def signing_secret(value: Any) -> Secret:
    return checked_signing_secret(keys.secret(value))


def checked_signing_secret(given: Secret) -> Secret:
    """Whatever the provider shows, letter for letter: its whsec_ is not that of Standard Webhooks. Raises Wrong."""
    if not given.reveal().strip():
        raise Wrong("must not be blank: anybody could sign with that")
    return given


def api_base(value: Any) -> str:
    """Where a double of the provider answers; the SDK puts the path behind it."""
    if not http.policy().allow_loopback:
        raise Wrong("is for the sandbox; it is refused unless ELICIT_ALLOW_LOOPBACK is on")
    address = url(value)
    if address.endswith("/") or "?" in address or len(address) > 500:
        raise Wrong("must be at most 500 characters without a slash at the end and without a query")
    return address


def wants_webhook_secret(provider: str) -> bool:
    """Whether webhooks are refused without one."""
    return providers.get(provider).signed


def account_faults(values: Json, stored: PaymentAccount | None) -> Iterator[tuple[str, str]]:
    """What an account's values are not together, and may not become: (key, message).

    ``values`` has provider, secret_key, api_base and livemode.
    """
    begins = providers.get(values["provider"]).keys
    key = values["secret_key"].reveal()
    live = next((live for prefix, live in begins.items() if key.startswith(prefix)), None)
    if live is None:
        yield "secret_key", f"must begin with {_or(begins)}: so do the keys of {values['provider']}"
    if live and values["api_base"]:
        yield "api_base", "must not stand beside a live key: such a key is shown to its own provider alone"
    if live and not values["livemode"]:
        yield "livemode", "is false, but secret_key is a live key; say livemode = true, or use a test key"
    if values["livemode"] and live is False:
        real = _or(prefix for prefix, live in begins.items() if live)
        yield "livemode", f"is true, but secret_key is no live key ({real})"
    if stored and Payment.objects.filter(account=stored).exists():
        for key in ("provider", "livemode"):
            if getattr(stored, key) != values[key]:
                yield key, "cannot change once there are payments; give the other account a slug of its own"


def _or(prefixes: Iterable[str]) -> str:
    return " or ".join(f"{prefix}…" for prefix in prefixes)


def put_account_secrets(row: PaymentAccount, key: Secret, several: list[Secret]) -> list[str]:
    """On the row, sealed; the caller saves it. The names of those that differ."""
    present = vault.account(row)
    pairs = {"secret_key": (present.secret_key, key), "webhook_secrets": (list(present.webhook_secrets), several)}
    changed = [name for name, (old, new) in pairs.items() if old != new]
    if changed:
        vault.seal_account(row, key, several)
    return changed
