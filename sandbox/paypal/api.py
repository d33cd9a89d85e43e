"""The API: tokens, authentication, dispatch, idempotency keys, ordered faults, and the certificate of the webhooks."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, abort, request

from sandbox.doubles.calls import ApiError, Calls
from sandbox.doubles.faults import Fault
from sandbox.doubles.keys import KeyTrouble
from sandbox.doubles.seen import Seen
from sandbox.paypal.double import Double, new_id
from sandbox.paypal.errors import PayPalError, TokenError, unfit
from sandbox.paypal.routes import QUERY, ROUTES, find


class Api(Calls):
    def __init__(self, double: Double) -> None:
        super().__init__(double.keys, double.faults)
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("paypal_api", __name__)
        methods = ["GET", "POST", "DELETE", "PUT", "PATCH"]
        pages.post("/paypal/v1/oauth2/token")(self.token)
        pages.get("/paypal/v1/notifications/certs/<id>")(self.certificate)
        for version in ("v1", "v2"):
            pages.route(f"/paypal/{version}/<path:rest>", methods=methods, endpoint=version)(self.answer)
        return pages

    def token(self) -> Response:
        seen = Seen(new_id(), "POST", "/v1/oauth2/token")
        self.double.seen.append(seen)
        fault = self.double.faults.take(seen.method, seen.path)

        def act() -> tuple[int, Any]:
            if request.form.get("grant_type") != "client_credentials":
                raise TokenError(400, "SANDBOX: only client_credentials is simulated")
            with self.double.lock:
                return 200, self.double.new_token(request.headers)

        try:
            seen.status, text = self.keyed(seen, "", {}, self.double.now(), fault, act)
        except ApiError as error:
            seen.status, text = error.status, error.text()
        self.before_sending(fault)
        return Response(text, seen.status, content_type="application/json")

    def certificate(self, id: str) -> Response:
        if id != self.double.signer.id:
            abort(404)
        self.double.seen.append(Seen(new_id(), "GET", f"/v1/notifications/certs/{id}", status=200))
        return Response(self.double.signer.pem, content_type="application/x-pem-file")

    def answer(self, rest: str) -> Response:
        """Always a JSON answer, unless a fault says otherwise."""
        seen = Seen(new_id(), request.method, request.path.removeprefix("/paypal"))
        seen.key = request.headers.get("PayPal-Request-Id") if request.method == "POST" else None
        self.double.seen.append(seen)
        fault: Fault | None = None
        try:
            seen.account = self.double.caller(request.headers)
            fault = self.double.faults.take(seen.method, seen.path)
            seen.status, text = self.call(seen, seen.account, fault)
        except PayPalError as error:
            seen.error = error.issue
            seen.status, text = error.status, error.text()
        self.before_sending(fault)
        return Response(text, seen.status, content_type="application/json")

    def call(self, seen: Seen, merchant: str, fault: Fault | None) -> tuple[int, str]:
        call, ids = find(seen.method, seen.path)
        given = body() if seen.method == "POST" else None
        seen.params = given if isinstance(given, dict) else dict(request.args)
        for name in request.args.keys() - QUERY.get(call, set()):
            raise unfit(name, "NOT_SUPPORTED", "SANDBOX: PayPal has no such parameter, or it is not simulated")
        if call == "POST /v2/checkout/orders" and not seen.key:
            raise unfit("PayPal-Request-Id", "PAYPAL_REQUEST_ID_REQUIRED")

        def act() -> tuple[int, Any]:
            with self.double.lock:
                return 201 if seen.method == "POST" else 200, ROUTES[call](self.double, merchant, ids, given)

        return self.keyed(seen, merchant, seen.params, self.double.now(), fault, act)

    def ordered(self, fault: Fault) -> PayPalError:
        return PayPalError(fault.status or 500, "INTERNAL_SERVICE_ERROR", fault.sentence)

    def refused(self, trouble: KeyTrouble) -> PayPalError:
        if trouble.hasty:
            return PayPalError(409, "PREVIOUS_REQUEST_IN_PROGRESS", str(trouble))
        return PayPalError(422, "DUPLICATE_REQUEST_ID", str(trouble))


def body() -> Any:
    """None if there is none."""
    if request.mimetype != "application/json":
        raise PayPalError(415, "UNSUPPORTED_MEDIA_TYPE", "Use the content type application/json.")
    text = request.get_data(as_text=True)
    try:
        return json.loads(text) if text.strip() else None
    except ValueError:
        raise unfit("/", "MALFORMED_REQUEST_JSON") from None
