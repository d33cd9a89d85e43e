"""The API under /v2: authentication, dispatch, idempotency keys and ordered faults."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from sandbox.doubles.calls import Calls
from sandbox.doubles.faults import Fault
from sandbox.doubles.keys import KeyTrouble
from sandbox.doubles.seen import Seen
from sandbox.mollie.double import Double, new_id
from sandbox.mollie.errors import MollieError, unfit
from sandbox.mollie.payments import expire_due
from sandbox.mollie.routes import QUERY, ROUTES, find


class Api(Calls):
    def __init__(self, double: Double) -> None:
        super().__init__(double.keys, double.faults)
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("mollie_api", __name__)
        methods = ["GET", "POST", "DELETE", "PUT", "PATCH"]
        pages.route("/mollie/v2/<path:rest>", methods=methods)(self.answer)
        return pages

    def answer(self, rest: str) -> Response:
        """Always a JSON answer, unless a fault says otherwise."""
        seen = Seen(new_id("req"), request.method, f"/{rest}")
        seen.key = request.headers.get("Idempotency-Key") if request.method == "POST" else None
        self.double.seen.append(seen)
        fault: Fault | None = None
        try:
            seen.account = self.double.caller(request.headers)
            fault = self.double.faults.take(seen.method, seen.path)
            seen.fault = fault.name if fault else None
            status, text = self.call(seen, seen.account, fault)
        except MollieError as error:
            seen.error = error.field or str(error.status)
            status, text = error.status, error.text()
        seen.status = status
        self.before_sending(fault)
        response = Response(text, status, content_type="application/hal+json")
        if seen.replayed:
            response.headers["Idempotent-Replayed"] = "true"
        return response

    def call(self, seen: Seen, profile: str, fault: Fault | None) -> tuple[int, str]:
        call, ids = find(seen.method, seen.path)
        given = body() if seen.method == "POST" else None
        seen.params = given if isinstance(given, dict) else dict(request.args)
        for name in request.args.keys() - QUERY.get(call, set()):
            raise unfit(name, "SANDBOX: Mollie has no such parameter, or the sandbox does not simulate it")

        def act() -> tuple[int, Any]:
            with self.double.lock:
                expire_due(self.double)
                return 201 if seen.method == "POST" else 200, ROUTES[call](self.double, profile, ids, given)

        return self.keyed(seen, profile, seen.params, self.double.now(), fault, act)

    def ordered(self, fault: Fault) -> MollieError:
        return MollieError(fault.status or 500, fault.sentence, kept=fault.stored)

    def refused(self, trouble: KeyTrouble) -> MollieError:
        return MollieError(409 if trouble.hasty else 400, str(trouble))


def body() -> Any:
    if not request.is_json:
        raise MollieError(415, "Use the content type application/json.")
    return request.get_json(silent=True)  # what is no JSON is no object either
