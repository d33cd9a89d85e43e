"""The API under /v1: authentication, dispatch, idempotency keys and ordered faults."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from sandbox.doubles.calls import Calls
from sandbox.doubles.faults import Fault
from sandbox.doubles.keys import KeyTrouble
from sandbox.doubles.seen import Seen
from sandbox.stripe.double import Double
from sandbox.stripe.errors import StripeError
from sandbox.stripe.form import decode
from sandbox.stripe.lists import rendered
from sandbox.stripe.parameters import checked
from sandbox.stripe.routes import ROUTES, find
from sandbox.stripe.sessions import expire_due
from sandbox.stripe.shop import API_VERSION
from sandbox.stripe.store import Account, Thing, new_id


class Api(Calls):
    def __init__(self, double: Double) -> None:
        super().__init__(double.keys, double.faults)
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("stripe_api", __name__)
        for version in ("v1", "v2"):
            pages.route(f"/{version}/<path:rest>", methods=["GET", "POST", "DELETE", "PUT", "PATCH"])(self.answer)
        return pages

    def answer(self, rest: str) -> Response:
        """Always a JSON answer with a Request-Id, unless a fault says otherwise."""
        seen = Seen(new_id("req"), request.method, request.path)
        seen.key = request.headers.get("Idempotency-Key")
        self.double.seen.append(seen)
        fault: Fault | None = None
        try:
            account = self.double.caller(request.headers)
            seen.account = account.id
            fault = self.double.faults.take(seen.method, seen.path)
            seen.fault = fault.name if fault else None
            status, text = self.call(seen, account, fault)
        except StripeError as error:
            seen.error = error.code or error.type
            status, text = error.status, error.text()
        seen.status = status
        return self.sent(seen, fault, status, text)

    def call(self, seen: Seen, account: Account, fault: Fault | None) -> tuple[int, str]:
        call, thing = find(seen.method, seen.path)
        given = parameters(seen)

        def act() -> tuple[int, Any]:
            params = checked(call, given)
            with self.double.store.lock:
                shop = self.double.shop(account, seen.request, seen.key)
                expire_due(shop)
                found = ROUTES[call](shop, thing, params)
                return 200, rendered(shop, found, params.get("expand", []))

        return self.keyed(seen, account.id, given, self.double.store.now(), fault, act)

    def ordered(self, fault: Fault) -> StripeError:
        kind = "rate_limit_error" if fault.status == 429 else "api_error"
        return StripeError(fault.status or 500, fault.sentence, type=kind, kept=fault.stored)

    def refused(self, trouble: KeyTrouble) -> StripeError:
        code = "idempotency_key_in_use" if trouble.hasty else None
        return StripeError(409 if trouble.hasty else 400, str(trouble), code=code, type="idempotency_error")

    def sent(self, seen: Seen, fault: Fault | None, status: int, text: str) -> Response:
        self.before_sending(fault)
        response = Response(text, status, content_type="application/json")
        response.headers["Request-Id"] = seen.request
        response.headers["Stripe-Version"] = request.headers.get("Stripe-Version", API_VERSION)
        if seen.key:
            response.headers["Idempotency-Key"] = seen.key
        if seen.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        if fault and fault.should_retry is not None:
            response.headers["Stripe-Should-Retry"] = "true" if fault.should_retry else "false"
        return response


def parameters(seen: Seen) -> Thing:
    """From the query for GET and DELETE, from the form otherwise."""
    source = request.form if seen.method == "POST" else request.args
    seen.params = decode(source.items(multi=True))
    return seen.params
