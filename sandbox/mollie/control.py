"""``POST /mollie/_control/<act>`` with JSON: the merchant's dashboard, the bank, the clock and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from sandbox.doubles.faults import PRESETS
from sandbox.doubles.orders import Unfit, Values, one_of
from sandbox.mollie import back, money, payments
from sandbox.mollie.double import TEST_KEYS, Double, Thing
from sandbox.mollie.errors import MollieError


def payment(double: Double, values: Values) -> Thing:
    found = double.payments.get(str(values["payment"]))
    if found is None:
        raise Unfit("there is no such payment")
    return found


def settle(double: Double, values: Values) -> None:
    """The transfer arrives, or never does."""
    found = payment(double, values)
    if not payments.is_transfer(found):
        raise Unfit(f"the payment is {found['status']}")
    payments.become(double, found, "paid" if one_of(values, "outcome", ["ok", "fail"]) == "ok" else "failed")


def refund(double: Double, values: Values) -> Thing:
    """``amount`` in minor units; without it, all that is left."""
    found = payment(double, values)
    minor = values.whole("amount") if "amount" in values else found["_minor"] - payments.refunded(found)
    asked = {"amount": money.written(minor, found["amount"]["currency"])}
    return payments.plain(back.refund(double, found, asked))


def refund_outcome(double: Double, values: Values) -> None:
    known = [one for each in double.payments.values() for one in each["_refunds"] if one["id"] == values["refund"]]
    if not known:
        raise Unfit("there is no such refund")
    back.become(double, known[0], one_of(values, "outcome", list(back.OUTCOMES)))


def chargeback(double: Double, values: Values) -> Thing:
    return back.chargeback(double, payment(double, values))


def reverse(double: Double, values: Values) -> Thing:
    return back.reverse(double, payment(double, values))


def hint(double: Double, values: Values) -> None:
    """Send the webhook again."""
    double.hooks.tell(payment(double, values).get("webhookUrl"), values["payment"])


def clock(double: Double, values: Values) -> None:
    """Move the clock forward. It cannot go back, so that what has expired stays expired."""
    double.offset += max(0, values.whole("seconds"))
    payments.expire_due(double)


def weather(double: Double, values: Values) -> None:
    double.hooks.drop = bool(values["drop"])


def cancelable(double: Double, values: Values) -> None:
    """Whether open payments can be cancelled, which Mollie does not allow for some methods."""
    double.cancelable = bool(values["yes"])


def bend(double: Double, values: Values) -> None:
    """Give payments another amount from now on."""
    double.bent = values.whole("amount")


def fault(double: Double, values: Values) -> None:
    """Order the preset ``name``, with other values for ``on`` ("POST /payments", * for anything) and ``times``."""
    given = {name: values[name] for name in ("on", "times", "hang") if name in values}
    double.faults.order(one_of(values, "name", list(PRESETS)), given)


def profile(double: Double, values: Values) -> None:
    """Add a profile with its own key."""
    if not str(values["key"]).startswith(TEST_KEYS):
        raise Unfit("only test keys are taken here")
    double.profiles[values["key"]] = str(values["id"])


def calm(double: Double, values: Values) -> None:
    double.calm()


def reset(double: Double, values: Values) -> None:
    double.forget()


Act = Callable[[Double, Values], Any]
ACTS: Mapping[str, Act] = {
    act.__name__: act
    for act in (settle, refund, refund_outcome, chargeback, reverse, hint, clock, weather, cancelable, bend, fault)
} | {"profile": profile, "calm": calm, "reset": reset}


class Control:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("mollie_control", __name__)
        pages.get("/mollie/_control/state")(self.state)
        pages.post("/mollie/_control/<act>")(self.act)
        return pages

    def state(self) -> dict[str, Any]:
        """Payments, oldest first, with their refunds and chargebacks; requests and deliveries in order of arrival."""
        with self.double.lock:
            embed = ("refunds", "chargebacks")
            return {
                "sandbox": True,
                "payments": [payments.shown(self.double, one, embed) for one in self.double.payments.values()],
                "requests": [one.shown() for one in self.double.seen],
                "deliveries": [one.shown() for one in self.double.hooks.sent],
            }

    def act(self, act: str) -> Response | tuple[Response, int]:
        if act not in ACTS:
            abort(404)
        try:
            with self.double.lock:
                return jsonify(ACTS[act](self.double, Values(request.get_json() or {})) or {})
        except (Unfit, MollieError) as refusal:
            return jsonify(error=str(refusal)), 400
