"""The PayPal objects in scripted answers, and a PayPal that signs."""

from __future__ import annotations

import json
from typing import Any

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from sandbox.paypal.signing import Signer
from tests.doubles.server import Request, Response, Server, json_response
from tests.kinds.payment.answers import Answers

SECRET, WEBHOOK = "canary-of-the-secret", "WEBHOOK1"
TOKEN = json_response({"access_token": "canary-of-the-token", "token_type": "Bearer", "expires_in": 3600})


def account(url: str | None, **changes: Any) -> Account:
    usual: dict[str, Any] = {"slug": "main", "provider": "paypal", "client_id": "client", "api_base": url}
    return Account(**usual | {"secret_key": Secret(SECRET), "webhook_secrets": (Secret(WEBHOOK),)} | changes)


class PayPalAnswers(Answers):
    """Gives a token to whoever asks, and the scripted answers to everything else."""

    def respond(self, request: Request) -> Response:
        return TOKEN if request.path == "/v1/oauth2/token" else super().respond(request)

    def account(self, **changes: Any) -> Account:
        return account(self.url, **changes)


def money(value: str, currency: str = "EUR") -> dict[str, str]:
    return {"currency_code": currency, "value": value}


def order(status: str = "PAYER_ACTION_REQUIRED", *captures: dict[str, Any], **changes: Any) -> dict[str, Any]:
    payments = {"payments": {"captures": list(captures), "refunds": changes.pop("refunds", [])}} if captures else {}
    unit = {"reference_id": "default", "amount": money("19.99"), "custom_id": "co_1", **payments}
    page = "https://www.sandbox.paypal.com/checkoutnow?token=ORDER1"
    links = [{"href": page, "rel": "payer-action", "method": "GET"}]
    return {"id": "ORDER1", "status": status, "purchase_units": [unit], "links": links} | changes


def capture(status: str = "COMPLETED", value: str = "19.99", **changes: Any) -> dict[str, Any]:
    return {"id": "CAPTURE1", "status": status, "amount": money(value), "custom_id": "co_1"} | changes


def error(status: int, issue: str | None = None) -> Response:
    details = [{"issue": issue, "description": f"No: {SECRET}"}] if issue else []
    return json_response({"name": "NO", "message": f"No: {SECRET}", "details": details}, status)


class Signing(Server):
    """Has the certificate of ``signer`` where PayPal has its own; ``asked`` counts who wants it."""

    def __init__(self, owner: str = "messageverificationcerts.paypal.com") -> None:
        self.asked = 0
        super().__init__()
        self.signer = Signer(self.url, owner)

    def respond(self, request: Request) -> Response:
        with self.lock:
            self.asked += 1
        known = self.signer.url.endswith(request.path)
        return Response(200, self.signer.pem) if known else Response(404)


def event(kind: str = "CHECKOUT.ORDER.APPROVED", resource: Any = None, **changes: Any) -> bytes:
    about = {"id": "ORDER1"} if resource is None else resource
    return json.dumps({"id": "WH-1", "event_type": kind, "resource": about} | changes).encode()
