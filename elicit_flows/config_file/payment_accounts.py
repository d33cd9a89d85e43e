"""Rules of ``[[payment_account]]``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from elicit_flows import http, vault
from elicit_flows.config_file.values import InvalidValue, url
from elicit_flows.domain.values import Json, Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Payment, PaymentAccount

MAX_WEBHOOK_SECRETS = 5
_KEY = re.compile(r"[!-~]{1,500}")
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


def needs_webhook_secret(provider: str) -> bool:
    """Whether webhooks of this provider are refused as long as the account has no webhook secret."""
    return providers.get(provider).signed


def conflicts(values: Json, given: Collection[str], stored: PaymentAccount | None) -> Iterator[tuple[str, str]]:
    """What is wrong with the values together, and with changing ``stored`` to them, as (key, message)."""
    yield from _key_conflicts(values)
    plug_in, provider = providers.get(values["provider"]), values["provider"]
    if plug_in.has_client_id and not values["client_id"]:
        yield "client_id", sentence("is missing: keys of %(provider)s have one", provider=provider)
    if values["client_id"] and not plug_in.has_client_id:
        yield "client_id", sentence("must not be set: keys of %(provider)s have none", provider=provider)
    if values["allow_save"] and "save" not in plug_in.modes:
        yield "allow_save", sentence("is true, but %(provider)s has no mode save; leave it out", provider=provider)
    if values["allow_mandates"] and "mandate" not in plug_in.modes:
        what = sentence("is true, but %(provider)s has no mode mandate; leave it out", provider=provider)
        yield "allow_mandates", what
    if stored and Payment.objects.filter(account=stored).exists():
        for name in ("provider", "livemode"):
            if getattr(stored, name) != values[name]:
                yield name, "cannot change once there are payments; give the other account a slug of its own"


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
