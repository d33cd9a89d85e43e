"""/_control: a page with buttons, and the same actions for programs as ``POST /_control/<act>`` with JSON."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, abort, jsonify, redirect, render_template, request, url_for
from werkzeug import Response as AnyResponse

from sandbox.doubles.faults import PRESETS
from sandbox.doubles.orders import Unfit
from sandbox.stripe.acts import FREE, LOCKED, perform, tried
from sandbox.stripe.double import Double
from sandbox.stripe.money import shown
from sandbox.stripe.state import state

KEPT = 30  # lines of each log on the page
NUMBERS = {"seconds", "duplicate", "times", "amount", "signature_age"}
FLAGS = {"drop", "hold", "wrong_secret", "livemode", "pending"}


class Control:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("stripe_control", __name__)
        pages.get("/_control")(self.page)
        pages.get("/_control/state")(self.state)
        pages.post("/_control/<act>")(self.act)
        return pages

    def state(self) -> dict[str, Any]:
        return state(self.double)

    def page(self) -> str:
        now = state(self.double)
        payments = [payment(one, now) for one in reversed(now["sessions"])][:KEPT]
        sent = [tried(one) for one in reversed(self.double.sender.deliveries[-KEPT:])]
        return render_template("stripe/control.html", now=now, payments=payments, presets=list(PRESETS), sent=sent)

    def act(self, act: str) -> Response | AnyResponse | tuple[Response, int]:
        if act not in LOCKED | FREE:
            abort(404)
        if not request.is_json:
            return self.pressed(act)
        try:
            return jsonify(perform(self.double, act, request.get_json() or {}))
        except Unfit as refusal:
            return jsonify(error=str(refusal)), 400

    def pressed(self, act: str) -> AnyResponse:
        """Handle a button of the page. Empty fields count as not given."""
        try:
            perform(self.double, act, {name: typed(name, text) for name, text in request.form.items() if text})
        except Unfit as refusal:
            abort(400, f"{str(refusal)[0].upper()}{str(refusal)[1:]}.")
        return redirect(url_for("stripe_control.page"), 303)


def typed(name: str, text: str) -> Any:
    if name in FLAGS:
        return text == "1"
    if name in NUMBERS and text.removeprefix("-").isdecimal():
        return int(text)
    return float(text) if name == "delay" and text.replace(".", "", 1).isdecimal() else text


def payment(session: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """One session as a row of the page, with the actions that it allows."""
    intent = session["payment_intent"]
    charge = next(
        (one for one in now["charges"] if intent and one["payment_intent"] == intent and one["captured"]), None
    )
    disputed = [one for one in now["disputes"] if charge and one["charge"] == charge["id"]]
    amount, back = session["amount_total"], charge["amount_refunded"] if charge else 0
    left = charge is not None and back < charge["amount"]
    return {
        "id": session["id"],
        "title": "A card to keep" if amount is None else shown(amount, session["currency"]),
        "status": session["status"],
        "payment_status": session["payment_status"],
        "paid_back": shown(back, session["currency"]) if back else None,
        "dispute": disputed[0]["status"] if disputed else None,
        "subscription": session["subscription"],
        "can_settle": session["status"] == "complete" and in_flight(session, now),
        "can_refund": left and not disputed,
        "can_dispute": left and not disputed,
        "can_decide": bool(disputed) and disputed[0]["status"] == "needs_response",
    }


def in_flight(session: dict[str, Any], now: dict[str, Any]) -> bool:
    intent = session["payment_intent"]
    return any(one["id"] == intent and one["status"] == "processing" for one in now["payment_intents"])
