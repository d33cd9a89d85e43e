"""The supported calls. Every other call gets PayPal's 404, so that an unplanned call fails visibly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flask import request

from sandbox.paypal import orders, reporting
from sandbox.paypal.double import Double, Thing, plain
from sandbox.paypal.errors import PayPalError, missing, unfit

Handler = Callable[[Double, str, list[str], Any], Thing]  # the merchant, the ids in the path, the body


def create(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    return orders.shown(double, orders.create(double, merchant, given), minimal=minimal())


def get_order(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    return orders.shown(double, double.order(merchant, ids[0]))


def capture(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    order = double.order(merchant, ids[0])
    orders.capture(double, order)
    return orders.shown(double, order, minimal=minimal())


def get_capture(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    return orders.shown_capture(*double.captured(merchant, ids[0]))


def refund(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    made = plain(orders.refund(double, *double.captured(merchant, ids[0]), given))
    return {name: made[name] for name in ("id", "status", "links")} if minimal() else made


def get_disputes(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    check_disputes(double)
    wanted = request.args.get("disputed_transaction_id")
    if not wanted:
        raise unfit("disputed_transaction_id", "NOT_SUPPORTED", "SANDBOX: lists are of one transaction")
    mine = [one for one in double.disputes.values() if one["_merchant"] == merchant]
    return {"items": [orders.summary(one) for one in reversed(mine) if orders.about(one) == wanted], "links": []}


def get_dispute(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    check_disputes(double)
    found = double.disputes.get(ids[0])
    if found is None or found["_merchant"] != merchant:
        raise missing()
    return plain(found)


def get_transactions(double: Double, merchant: str, ids: list[str], given: Any) -> Thing:
    return reporting.search(double, merchant, request.args.to_dict())


def check_disputes(double: Double) -> None:
    if not double.disputes_allowed:
        raise PayPalError(403, "PERMISSION_DENIED", "You do not have permission to access this resource.")


def minimal() -> bool:
    """PayPal's usual answer is short."""
    return request.headers.get("Prefer") != "return=representation"


ROUTES: dict[str, Handler] = {
    "POST /v2/checkout/orders": create,
    "GET /v2/checkout/orders/:id": get_order,
    "POST /v2/checkout/orders/:id/capture": capture,
    "GET /v2/payments/captures/:id": get_capture,
    "POST /v2/payments/captures/:id/refund": refund,
    "GET /v1/customer/disputes": get_disputes,
    "GET /v1/customer/disputes/:id": get_dispute,
    "GET /v1/reporting/transactions": get_transactions,
}
QUERY = {
    "GET /v1/customer/disputes": {"disputed_transaction_id"},
    "GET /v1/reporting/transactions": reporting.QUERY,
}


def find(method: str, path: str) -> tuple[str, list[str]]:
    """The call and the ids in its path. Raises PayPalError."""
    for call in ROUTES:
        found = re.fullmatch(call.replace(":id", "([A-Z0-9-]+)"), f"{method} {path}")
        if found:
            return call, list(found.groups())
    raise PayPalError(404, "RESOURCE_NOT_FOUND", f"SANDBOX: there is no {method} {path} here")
