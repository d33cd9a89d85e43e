"""``POST /paypal/_control/<act>`` with JSON: the merchant's dashboard, the bank, the buyer, the clock and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from sandbox.doubles.faults import PRESETS
from sandbox.doubles.orders import Unfit, Values, one_of
from sandbox.paypal import money, orders
from sandbox.paypal.double import TEST_SECRETS, App, Double, Thing, payments, plain
from sandbox.paypal.errors import PayPalError


def order(double: Double, values: Values) -> Thing:
    found = double.orders.get(str(values["order"]))
    if found is None:
        raise Unfit("there is no such order")
    return found


def settle(double: Double, values: Values) -> None:
    """The bank decides about a pending capture."""
    orders.settle(double, order(double, values), ok=one_of(values, "outcome", ["ok", "fail"]) == "ok")


def refund(double: Double, values: Values) -> Thing:
    """``amount`` in the smallest unit; ``pending``: the bank has not done it yet."""
    found = order(double, values)
    taken = payments(found)["captures"]
    if not taken:
        raise Unfit("nothing was captured")
    asked = {"amount": money.written(values.whole("amount"), found["_currency"])}
    return plain(orders.refund(double, found, taken[0], asked, "PENDING" if values.get("pending") else "COMPLETED"))


def refund_outcome(double: Double, values: Values) -> None:
    orders.refund_becomes(double, str(values["refund"]), one_of(values, "outcome", ["COMPLETED", "FAILED"]))


def dispute(double: Double, values: Values) -> None:
    orders.dispute(double, order(double, values), one_of(values, "outcome", ["open", "won", "lost"]))


def disputes(double: Double, values: Values) -> None:
    """Whether apps may read disputes."""
    double.disputes_allowed = bool(values["yes"])


def hint(double: Double, values: Values) -> None:
    """Send the webhooks about this order and its captures again, as they were."""
    found = order(double, values)
    about = {found["id"], *(one["id"] for one in payments(found)["captures"])}
    for sent in [one for one in double.hooks.sent if one.id in about]:
        double.hooks.send(replace(sent, state="waiting", tries=[]))


def tokens(double: Double, values: Values) -> None:
    """End all tokens before their time."""
    double.tokens.clear()


def clock(double: Double, values: Values) -> None:
    """Move the clock forward. It cannot go back, so that what has lapsed stays so."""
    double.offset += max(0, values.whole("seconds"))


def weather(double: Double, values: Values) -> None:
    double.hooks.drop = bool(values["drop"])


def bend(double: Double, values: Values) -> None:
    """Capture another amount from now on."""
    double.bent = values.whole("amount")


def fault(double: Double, values: Values) -> None:
    """Order the preset ``name``, with other values for ``on`` ("POST /v2/*", * for anything) and ``times``."""
    given = {name: values[name] for name in ("on", "times", "hang") if name in values}
    double.faults.order(one_of(values, "name", list(PRESETS)), given)


def app(double: Double, values: Values) -> None:
    """Add an app with its subscription to all events, or replace it."""
    if TEST_SECRETS not in str(values["secret"]):
        raise Unfit(f"only secrets with {TEST_SECRETS} in them are taken here")
    given = [str(values[name]) for name in ("client_id", "secret", "merchant", "webhook", "listener")]
    double.apps[given[0]] = App(*given)


def calm(double: Double, values: Values) -> None:
    double.calm()


def reset(double: Double, values: Values) -> None:
    double.forget()


Act = Callable[[Double, Values], Any]
_ALL = (settle, refund, refund_outcome, dispute, disputes, hint, tokens, clock, weather, bend, fault, app, calm, reset)
ACTS: Mapping[str, Act] = {act.__name__: act for act in _ALL}


class Control:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("paypal_control", __name__)
        pages.get("/paypal/_control/state")(self.state)
        pages.post("/paypal/_control/<act>")(self.act)
        return pages

    def state(self) -> dict[str, Any]:
        """Orders, oldest first; requests and deliveries in order of arrival."""
        with self.double.lock:
            return {
                "sandbox": True,
                "orders": [orders.shown(self.double, one) for one in self.double.orders.values()],
                "requests": [one.shown() for one in self.double.seen],
                "deliveries": [one.shown() for one in self.double.hooks.sent],
            }

    def act(self, act: str) -> Response | tuple[Response, int]:
        if act not in ACTS:
            abort(404)
        try:
            with self.double.lock:
                return jsonify(ACTS[act](self.double, Values(request.get_json() or {})) or {})
        except (Unfit, PayPalError) as refusal:
            return jsonify(error=str(refusal)), 400
