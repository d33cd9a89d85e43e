"""Checks of a question before it is sent, so that a decorator with a wrong question fails where it is written.

Payments, forms, confirms and x402 are checked by the service's own code, which needs no Django.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.confirm import params as confirm
from elicit_flows.kinds.form import params as form
from elicit_flows.kinds.payment import params as payment
from elicit_flows.kinds.x402 import params as x402
from elicit_flows.sdk.errors import InvalidQuestionError

MAX_MESSAGE = 2000
MAX_SECONDS = 30 * 86400
_READERS: dict[str, Callable[[Json], object]] = {
    "payment": payment.clean,
    "form": form.read,
    "confirm": confirm.clean,
    "x402": x402.clean,
}
_REUSE = ("if_valid", "never")


def check(kind: str, params: Json, message: str, options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise InvalidQuestionError (a ValueError) with every mistake that the service would refuse, as ``params.amount:
    Give a …``.

    Raises TypeError for an option that is not in ``known``.
    """
    for name in options:
        if name not in known:
            raise TypeError(f"{name}: There is no such option; use one of {', '.join(known)}.")
    faults: list[dict[str, Any]] = []
    try:
        if kind in _READERS:
            _READERS[kind](params)
        # For kinds that only the service can check: an empty provider name alone.
        name = params.get("provider", "some")
        if not isinstance(name, str) or not name:
            faults.append(_fault("params.provider", "Name the provider by its slug."))
    except Invalid as refused:
        faults += refused.errors
    if not isinstance(message, str) or not 0 < len(message) <= MAX_MESSAGE:
        faults.append(_fault("message", f"Say in 1 to {MAX_MESSAGE} characters why you ask."))
    seconds = options.get("expires_in", 1)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 1 <= seconds <= MAX_SECONDS:
        faults.append(_fault("expires_in", f"Give a whole number of seconds from 1 to {MAX_SECONDS}."))
    if options.get("reuse", "never") not in _REUSE:
        faults.append(_fault("reuse", f"Use one of {', '.join(_REUSE)}."))
    if faults:
        raise InvalidQuestionError(faults)


def _fault(place: str, message: str) -> dict[str, Any]:
    return {"loc": place.split("."), "message": message}
