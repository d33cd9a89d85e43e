"""The supported calls. Every other call gets Stripe's 404, so that an unplanned call fails visibly."""

from __future__ import annotations

import re
from collections.abc import Callable

from sandbox.stripe import customers, holds, invoices, off_session, refunds, sessions, subscriptions
from sandbox.stripe.errors import StripeError
from sandbox.stripe.lists import page
from sandbox.stripe.shop import Shop, shown
from sandbox.stripe.store import Thing

Handler = Callable[[Shop, str, Thing], Thing]
SESSIONS = "/v1/checkout/sessions"
# Objects that can be retrieved, and objects that can be listed.
ONE = {
    SESSIONS: "checkout.session",
    "/v1/payment_intents": "payment_intent",
    "/v1/charges": "charge",
    "/v1/setup_intents": "setup_intent",
    "/v1/payment_methods": "payment_method",
    "/v1/subscriptions": "subscription",
    "/v1/invoices": "invoice",
    "/v1/customers": "customer",
    "/v1/refunds": "refund",
    "/v1/disputes": "dispute",
    "/v1/balance_transactions": "balance_transaction",
    "/v1/events": "event",
}
MANY = {
    path: ONE.get(path, "invoice_payment")
    for path in (
        SESSIONS,
        "/v1/payment_intents",
        "/v1/charges",
        "/v1/refunds",
        "/v1/disputes",
        "/v1/balance_transactions",
        "/v1/events",
        "/v1/invoice_payments",
    )
}


def get_one(kind: str) -> Handler:
    def handler(shop: Shop, id: str, params: Thing) -> Thing:
        return shop.get(kind, id)

    return handler


def get_many(kind: str, path: str) -> Handler:
    def handler(shop: Shop, id: str, params: Thing) -> Thing:
        return page([shown(one) for one in shop.all(kind)], path, params)

    return handler


def create_session(shop: Shop, id: str, params: Thing) -> Thing:
    return sessions.create(shop, params)


def expire_session(shop: Shop, id: str, params: Thing) -> Thing:
    return sessions.expire(shop, shop.get(sessions.KIND, id))


def session_items(shop: Shop, id: str, params: Thing) -> Thing:
    return page(shop.get(sessions.KIND, id)["_items"], f"{SESSIONS}/{id}/line_items", params)


def create_refund(shop: Shop, id: str, params: Thing) -> Thing:
    return refunds.create(shop, params)


def create_intent(shop: Shop, id: str, params: Thing) -> Thing:
    return off_session.create(shop, params)


def cancel_intent(shop: Shop, id: str, params: Thing) -> Thing:
    return off_session.cancel(shop, shop.get(off_session.KIND, id), params)


def capture_intent(shop: Shop, id: str, params: Thing) -> Thing:
    return holds.capture(shop, shop.get(off_session.KIND, id), params)


def create_customer(shop: Shop, id: str, params: Thing) -> Thing:
    customer = customers.create(shop, params)
    shop.emit("customer.created", customer)
    return customer


def change_subscription(shop: Shop, id: str, params: Thing) -> Thing:
    return subscriptions.change(shop, shop.get(subscriptions.KIND, id), params)


def list_invoices(shop: Shop, id: str, params: Thing) -> Thing:
    """An invoice names its subscription in ``parent``."""
    others = {name: value for name, value in params.items() if name != "subscription"}
    found = invoices.of(shop, params["subscription"]) if "subscription" in params else shop.all("invoice")
    return page([shown(one) for one in found], "/v1/invoices", others)


def list_subscriptions(shop: Shop, id: str, params: Thing) -> Thing:
    """Those that are canceled are left out: https://docs.stripe.com/api/subscriptions/list"""
    found = [shown(one) for one in shop.all(subscriptions.KIND) if one["status"] != "canceled"]
    return page(found, "/v1/subscriptions", params)


def detach_method(shop: Shop, id: str, params: Thing) -> Thing:
    return customers.detach(shop, shop.get("payment_method", id))


def end_subscription(shop: Shop, id: str, params: Thing) -> Thing:
    return subscriptions.end(shop, shop.get(subscriptions.KIND, id))


ROUTES: dict[str, Handler] = {
    **{f"GET {path}/:id": get_one(kind) for path, kind in ONE.items()},
    **{f"GET {path}": get_many(kind, path) for path, kind in MANY.items()},
    f"POST {SESSIONS}": create_session,
    f"POST {SESSIONS}/:id/expire": expire_session,
    f"GET {SESSIONS}/:id/line_items": session_items,
    "POST /v1/payment_intents": create_intent,
    "POST /v1/payment_intents/:id/cancel": cancel_intent,
    "POST /v1/payment_intents/:id/capture": capture_intent,
    "GET /v1/invoices": list_invoices,
    "POST /v1/refunds": create_refund,
    "POST /v1/customers": create_customer,
    "POST /v1/payment_methods/:id/detach": detach_method,
    "GET /v1/subscriptions": list_subscriptions,
    "POST /v1/subscriptions/:id": change_subscription,
    "DELETE /v1/subscriptions/:id": end_subscription,
}
_PATTERNS = {call: re.compile(call.replace(":id", "(?P<id>[^/ ]+)")) for call in ROUTES}


def find(method: str, path: str) -> tuple[str, str]:
    """The call and the id in its path. Raises StripeError."""
    for call, pattern in _PATTERNS.items():
        found = pattern.fullmatch(f"{method} {path}")
        if found:
            return call, found.groupdict().get("id", "")
    sentence = f"Unrecognized request URL ({method}: {path}). SANDBOX: only part of Stripe's API is here."
    raise StripeError(404, sentence)
