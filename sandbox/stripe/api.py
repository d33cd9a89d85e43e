"""The API under /v1: who calls, what for, with which key, and what is to go wrong."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket

from flask import Blueprint, Response, request

from sandbox.stripe.double import Double
from sandbox.stripe.errors import StripeError
from sandbox.stripe.faults import Fault
from sandbox.stripe.form import decode
from sandbox.stripe.lists import rendered
from sandbox.stripe.parameters import checked
from sandbox.stripe.routes import ROUTES, find
from sandbox.stripe.seen import Seen
from sandbox.stripe.sessions import expire_due
from sandbox.stripe.shop import API_VERSION
from sandbox.stripe.store import Account, Thing, new_id


class Api:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("stripe_api", __name__)
        for version in ("v1", "v2"):
            pages.route(f"/{version}/<path:rest>", methods=["GET", "POST", "DELETE", "PUT", "PATCH"])(self.answer)
        return pages

    def answer(self, rest: str) -> Response:
        """Whatever happens, a JSON answer with a Request-Id, unless a fault says otherwise."""
        seen = Seen(new_id("req"), request.method, request.path)
        seen.key = request.headers.get("Idempotency-Key")
        self.double.seen.append(seen)
        fault: Fault | None = None
        try:
            account = self.double.caller(request.headers)
            seen.account = account.id
            fault = self.double.faults.take(seen.method, seen.path)
            seen.fault = fault.name if fault else None
            status, text = self.keyed(seen, account, fault)
        except StripeError as error:
            seen.error = error.code or error.type
            status, text = error.status, json.dumps(error.body(), indent=2)
        seen.status = status
        return self.sent(seen, fault, status, text)

    def keyed(self, seen: Seen, account: Account, fault: Fault | None) -> tuple[int, str]:
        """The answer kept under the request's idempotency key, or a fresh one, which is kept if it is to be."""
        call, thing = find(seen.method, seen.path)
        given = parameters(seen)
        if fault and fault.status and not fault.executed and not fault.stored:
            raise fault.error()
        if seen.key is None or seen.method == "GET":
            return self.carried_out(seen, account, call, thing, given, fault)
        mark = hashlib.sha256(json.dumps([seen.method, seen.path, given], sort_keys=True).encode()).hexdigest()
        kept = self.double.keys.claim(account.id, seen.key, mark, seen.request, self.double.store.now())
        if kept is not None:
            seen.replayed = True
            return kept.status, kept.body
        try:
            status, text = self.carried_out(seen, account, call, thing, given, fault)
        except StripeError as error:
            if error.kept:
                self.double.keys.keep(account.id, seen.key, error.status, json.dumps(error.body(), indent=2))
            else:
                self.double.keys.release(account.id, seen.key)
            raise
        self.double.keys.keep(account.id, seen.key, status, text)
        return status, text

    def carried_out(
        self, seen: Seen, account: Account, call: str, thing: str, given: Thing, fault: Fault | None
    ) -> tuple[int, str]:
        if fault and not fault.executed and (fault.status or fault.lose):
            raise fault.error()
        params = checked(call, given)
        with self.double.store.lock:
            shop = self.double.shop(account, seen.request, seen.key)
            expire_due(shop)
            found = ROUTES[call](shop, thing, params)
            answer = rendered(shop, found, params.get("expand", []))
        if fault and not fault.sent:
            self.double.faults.patience.wait(fault.hang)
        if fault and fault.status:
            raise fault.error()
        return 200, json.dumps(answer, indent=2)

    def sent(self, seen: Seen, fault: Fault | None, status: int, text: str) -> Response:
        if fault and fault.sent:
            self.double.faults.patience.wait(fault.hang)
        if fault and fault.lose:
            hang_up()
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
    """From the address for GET and DELETE, from the form otherwise."""
    source = request.form if seen.method == "POST" else request.args
    seen.params = decode(source.items(multi=True))
    return seen.params


def hang_up() -> None:
    """The connection ends here, and the answer goes nowhere."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
