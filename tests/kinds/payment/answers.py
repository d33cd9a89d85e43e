"""A payment provider that gives scripted answers, and the Stripe objects in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account, Ask
from elicit_flows.lib import clock
from tests.doubles.server import Request, Response, Server, json_response

KEY = "sk_test_canary"
HOUR = timedelta(hours=1)


class Answers(Server):
    """Answers whatever is asked with ``script``, one after the other, the last for ever; ``asked`` keeps what came."""

    def __init__(self, *script: Response) -> None:
        self.script, self.asked = list(script), list[Request]()
        super().__init__()

    def respond(self, request: Request) -> Response:
        with self.lock:
            self.asked.append(request)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def account(self, **changes: Any) -> Account:
        return account(self.url, **changes)


def account(url: str, **changes: Any) -> Account:
    usual: dict[str, Any] = {"slug": "main", "provider": "stripe", "secret_key": Secret(KEY), "api_base": url}
    return Account(**usual | changes)


def ask(**changes: Any) -> Ask:
    usual: dict[str, Any] = {
        "our_id": "co_1",
        "mode": "pay",
        "amount": 1999,
        "currency": "eur",
        "description": "The report",
        "return_url": "https://flows.example.com/payments/main/return?checkout=co_1",
        "cancel_url": "https://flows.example.com/payments/main/return?checkout=co_1&back=1",
        "expires_at": clock.now().replace(microsecond=0) + HOUR,
        "notify_url": "http://127.0.0.1:9/inbound/main",  # nobody is there
    }
    return Ask(**usual | changes)


def session(**changes: Any) -> dict[str, Any]:
    """A Checkout Session that nobody has paid yet."""
    return {
        "id": "cs_test_1",
        "object": "checkout.session",
        "mode": "payment",
        "status": "open",
        "payment_status": "unpaid",
        "amount_total": 1999,
        "currency": "eur",
        "livemode": False,
        "client_reference_id": "co_1",
        "metadata": {"our_id": "co_1"},
        "url": "https://checkout.stripe.com/c/pay/cs_test_1",
        "expires_at": 1_790_003_600,
    } | changes


def listed(*things: dict[str, Any], has_more: bool = False) -> Response:
    return json_response({"object": "list", "url": "/v1/things", "has_more": has_more, "data": list(things)})


def error(status: int, code: str | None = None, type: str = "invalid_request_error", **headers: str) -> Response:
    """Stripe's error body; ``headers`` with _ for -."""
    said = json_response({"error": {"type": type, "code": code, "message": f"No: {KEY[:12]}"}}, status)
    return Response(
        status, said.body, {**said.headers, **{name.replace("_", "-"): one for name, one in headers.items()}}
    )
