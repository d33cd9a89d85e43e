"""Rules of ``[[agent]]``: API key, webhook secret and spend limits, and how they are put on an agent's row."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from datetime import timedelta
from typing import Any, NamedTuple

from elicit_flows import vault
from elicit_flows.config_file.values import InvalidValue
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.params import MAX_AMOUNT
from elicit_flows.lib import clock, ids, money
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Agent, SpendLimit

WEBHOOK_SECRET_OVERLAP = timedelta(hours=24)  # how long the previous webhook secret still signs beside the new one
KEY_HINT_LENGTH = 6  # characters of an API key that pages may show
MAX_PER_DAY = 100 * MAX_AMOUNT
_API_KEY = re.compile(r"[!-~]{32,512}")
_LIMIT_KEYS = {"currency", "per_payment", "per_day"}


class Limit(NamedTuple):
    """Amounts in minor units; None for no limit."""

    currency: str
    per_payment: int | None
    per_day: int | None


def check_api_key(key: Secret) -> None:
    """Raises InvalidValue."""
    if not _API_KEY.fullmatch(key.reveal()):
        raise InvalidValue(
            sentence("must be 32 to 512 visible ASCII characters without spaces; leave it out and one is made")
        )


def check_webhook_secret(given: Secret) -> None:
    """Standard Webhooks: whsec_ and base64 of 24 to 64 bytes. Raises InvalidValue."""
    prefix, mark, encoded = given.reveal().partition("_")
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if (prefix, mark) != ("whsec", "_") or not 24 <= size <= 64:
        raise InvalidValue(sentence("must be whsec_ and base64 of 24 to 64 bytes; leave it out and one is made"))


def new_api_key() -> Secret:
    return Secret(f"ek_{ids.token()}")


def new_webhook_secret() -> Secret:
    return Secret("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())


def show_once(made: dict[str, Secret]) -> list[tuple[str, str]]:
    """New secrets in the clear, by name, for the operator who had them made."""
    return [(name, secret.reveal()) for name, secret in made.items()]


def key_hash(key: Secret) -> str:
    """The form in which an API key is stored and looked up."""
    return ids.digest(key.reveal())


def set_api_key(agent: Agent, key: Secret) -> bool:
    """Put the key's hash on the row; the caller saves it. False if the agent has this key already."""
    if agent.key_hash == key_hash(key):
        return False
    agent.key_hash, agent.key_hint = key_hash(key), key.reveal()[:KEY_HINT_LENGTH]
    return True


def set_webhook_secret(agent: Agent, given: Secret) -> bool:
    """Put the sealed secret on the row; the caller saves it. False if the agent has this secret already."""
    current = vault.webhook_secrets(agent)
    if current and current[0] == given:
        return False
    # The agent needs time to take over the new secret, so the previous one keeps signing for a day.
    vault.seal_webhook_secret(agent, given, overlap_until=clock.now() + WEBHOOK_SECRET_OVERLAP)
    return True


def spend_limit(value: Any) -> Limit:
    """``{ currency = "usd", per_payment = 2000, per_day = 5000 }``."""
    if not isinstance(value, dict) or "currency" not in value or not value.keys() <= _LIMIT_KEYS or len(value) < 2:
        raise InvalidValue(
            sentence('must be { currency = "usd", per_payment = 2000, per_day = 5000 }, with one of the two or both')
        )
    per_payment, per_day = value.get("per_payment"), value.get("per_day")
    for name, amount, most in (("per_payment", per_payment, MAX_AMOUNT), ("per_day", per_day, MAX_PER_DAY)):
        # "type(…) is int", since True is an int as well.
        if amount is not None and not (type(amount) is int and 0 <= amount <= most):
            raise InvalidValue(
                sentence(
                    "%(name)s must be a whole number of minor units from 0 to %(most)s: 2000 is 20.00 USD",
                    name=name,
                    most=most,
                )
            )
    return Limit(currency(value["currency"]), per_payment, per_day)


def currency(value: Any) -> str:
    """An ISO 4217 code in lower case that this service accepts."""
    if not isinstance(value, str) or money.digits(value) is None:
        raise InvalidValue(sentence("the currency must be one that is accepted here, in lower case, such as eur"))
    return value


def set_spend_limits(agent: Agent, limits: list[Limit]) -> dict[str, tuple[Any, Any] | None]:
    """Replace the spend limits of a stored agent. Returns the old and the new ones if they differ."""
    wanted = {limit.currency: limit for limit in limits}  # for a currency that is listed twice the last one counts
    current = {row.currency: Limit(row.currency, row.per_payment, row.per_day) for row in agent.spend_limits.all()}
    if wanted == current:
        return {}
    agent.spend_limits.exclude(currency__in=wanted).delete()
    for limit in wanted.values():
        amounts = {"per_payment": limit.per_payment, "per_day": limit.per_day}
        SpendLimit.objects.update_or_create(agent=agent, currency=limit.currency, defaults=amounts)
    return {"spend_limits": (list(current.values()), list(wanted.values()))}
