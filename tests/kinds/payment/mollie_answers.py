"""The Mollie objects in scripted answers."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from tests.doubles.server import Response, json_response
from tests.kinds.payment.answers import Answers

KEY = "test_canary"


def account(url: str | None, *secrets: str, **changes: Any) -> Account:
    usual: dict[str, Any] = {"slug": "main", "provider": "mollie", "secret_key": Secret(KEY), "api_base": url}
    return Account(**usual | {"webhook_secrets": tuple(Secret(one) for one in secrets)} | changes)


class MollieAnswers(Answers):
    def account(self, **changes: Any) -> Account:
        return account(self.url, **changes)


def payment(**changes: Any) -> dict[str, Any]:
    """One that nobody has paid yet."""
    return {
        "resource": "payment",
        "id": "tr_1",
        "mode": "test",
        "status": "open",
        "isCancelable": True,
        "amount": {"currency": "EUR", "value": "19.99"},
        "metadata": {"our_id": "co_1"},
        "createdAt": "2026-11-21T07:00:00+00:00",
        "expiresAt": "2026-11-21T07:15:00+00:00",
        "_links": {"checkout": {"href": "https://www.mollie.com/checkout/select-method/1", "type": "text/html"}},
    } | changes


def refund(**changes: Any) -> dict[str, Any]:
    usual = {"resource": "refund", "id": "re_1", "amount": {"currency": "EUR", "value": "5.00"}, "status": "refunded"}
    return usual | changes


def embedded(*refunds: dict[str, Any], chargebacks: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A payment that is paid, with what went back of it."""
    return payment(status="paid", _embedded={"refunds": list(refunds), "chargebacks": list(chargebacks)})


def error(status: int, field: str | None = None, **headers: str) -> Response:
    """Mollie's error body; ``headers`` with _ for -."""
    body = {"status": status, "title": "No", "detail": f"No: {KEY}"} | ({"field": field} if field else {})
    said = json_response(body, status)
    return Response(
        status, said.body, {**said.headers, **{name.replace("_", "-"): one for name, one in headers.items()}}
    )
