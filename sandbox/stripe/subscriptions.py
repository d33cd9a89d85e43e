"""Subscriptions: started by a paid session, then renewed, refused, paid after all or ended from the dashboard.
Simplified: no proration, and what the bank says is ordered.
"""

from __future__ import annotations

import calendar
import copy
from datetime import UTC, datetime, timedelta

from sandbox.stripe import charges, invoices
from sandbox.stripe.errors import StripeError
from sandbox.stripe.sessions import trial_days
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

KIND = "subscription"
TRIAL_SETTINGS = {"end_behavior": {"missing_payment_method": "create_invoice"}}
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12}


def start(shop: Shop, session: Thing, method: Thing) -> Thing:
    """An active subscription whose first period is paid, or one with a trial; the session and the subscription refer to
    each other.
    """
    subscription = shop.put(blank(shop, session, method))
    days = trial_days(session["_data"])
    if days:
        ends = shop.now + days * 86_400
        subscription |= {"status": "trialing", "trial_start": shop.now, "trial_end": ends}
        subscription |= {"billing_cycle_anchor": ends, "trial_settings": TRIAL_SETTINGS}
        for one in subscription["items"]["data"]:
            one["current_period_end"] = ends
    session["subscription"] = subscription["id"]
    shop.emit("customer.subscription.created", subscription)
    if days:
        made = invoices.invoice(shop, subscription, 0, "subscription_create")
        session["invoice"] = invoices.paid(shop, made, None)["id"]
    else:
        session["invoice"] = pay_period(shop, subscription, session["amount_total"], "subscription_create")["id"]
    return subscription


def pay_period(shop: Shop, subscription: Thing, amount: int, reason: str) -> Thing:
    """The invoice of the current period, paid with the stored method."""
    return collect(shop, subscription, invoices.invoice(shop, subscription, amount, reason), ok=True)


def collect(shop: Shop, subscription: Thing, made: Thing, *, ok: bool) -> Thing:
    """Charge an open invoice with the stored method. ``ok``: whether the bank takes it. The state follows."""
    amount, customer = made["amount_due"], subscription["customer"]
    share = {"application_fee_amount": int(amount * (subscription["application_fee_percent"] or 0) / 100) or None}
    intent = shop.put(charges.blank_intent(shop, amount, made["currency"], customer, share))
    method = shop.get("payment_method", subscription["default_payment_method"])
    before = {"status": subscription["status"]}
    if ok:
        charges.succeed(shop, intent, charges.charge(shop, intent, method, "succeeded"))
        invoices.paid(shop, made, intent)
    else:
        charges.fail(shop, intent, charges.charge(shop, intent, method, "failed"), charges.DECLINE)
        invoices.refused(shop, made)
    due = [one for one in invoices.of(shop, subscription["id"]) if one["status"] == "open"]
    subscription["status"] = "past_due" if due else "active"
    if subscription["status"] != before["status"]:
        shop.emit("customer.subscription.updated", subscription, before)
    return made


def collect_again(shop: Shop, subscription: Thing, *, ok: bool) -> Thing:
    """Stripe tries again, or the payer pays on the invoice's page. Raises StripeError if nothing is due."""
    due = [one for one in invoices.of(shop, subscription["id"]) if one["status"] == "open"]
    if not due or subscription["status"] == "canceled":
        raise StripeError(400, "SANDBOX: this subscription has no invoice that can be paid.")
    return collect(shop, subscription, due[-1], ok=ok)


def blank(shop: Shop, session: Thing, method: Thing) -> Thing:
    name, now = new_id("sub"), shop.now
    nothing = (
        *("application", "application_fee_percent", "billing_cycle_anchor_config", "billing_thresholds", "cancel_at"),
        *("canceled_at", "days_until_due", "default_source", "ended_at", "next_pending_invoice_item_invoice"),
        *("on_behalf_of", "pause_collection", "pending_invoice_item_interval", "pending_setup_intent", "schedule"),
        *("pending_update", "test_clock", "transfer_data", "trial_end", "trial_settings", "trial_start"),
    )
    return dict.fromkeys(nothing) | {
        "id": name,
        "object": KIND,
        "application_fee_percent": float(session["_data"].get("application_fee_percent", 0)) or None,
        "automatic_tax": {"disabled_reason": None, "enabled": False, "liability": None},
        "billing_cycle_anchor": now,
        "billing_mode": {"type": "flexible"},
        "billing_schedules": [],
        "cancel_at_period_end": False,
        "cancellation_details": None,
        "collection_method": "charge_automatically",
        "created": now,
        "currency": session["currency"],
        "customer": session["customer"],
        "default_payment_method": method["id"],
        "default_tax_rates": [],
        "description": session["_data"].get("description"),
        "discounts": [],
        "invoice_settings": {"account_tax_ids": None, "issuer": {"type": "self"}},
        "items": {
            "object": "list",
            "data": [item(shop, name, line) for line in session["_items"] if line["price"]["recurring"]],
            "has_more": False,
            "url": f"/v1/subscription_items?subscription={name}",
        },
        "latest_invoice": None,
        "livemode": session["livemode"],
        "metadata": session["_data"].get("metadata", {}),
        "start_date": now,
        "status": "active",
    }


def item(shop: Shop, subscription: str, line: Thing) -> Thing:
    price = line["price"] | {"active": True}
    return {
        "id": new_id("si"),
        "object": "subscription_item",
        "billing_thresholds": None,
        "created": shop.now,
        "current_period_end": period_end(shop.now, price["recurring"]),
        "current_period_start": shop.now,
        "discounts": [],
        "metadata": {},
        "plan": plan(price),
        "price": price,
        "quantity": line["quantity"],
        "subscription": subscription,
        "tax_rates": [],
    }


def plan(price: Thing) -> Thing:
    """The price in the older form, which every item still contains."""
    same = {
        name: price[name] for name in ("id", "active", "billing_scheme", "created", "currency", "livemode", "product")
    }
    rhythm = {name: price["recurring"][name] for name in ("interval", "interval_count", "usage_type")}
    return {**same, **rhythm, "object": "plan", "amount": price["unit_amount"], "metadata": {}}


def period_end(start: int, rhythm: Thing) -> int:
    """A month ends on the day of the month on which it began, or on the last day."""
    count, interval = rhythm["interval_count"], rhythm["interval"]
    begin = datetime.fromtimestamp(start, UTC)
    if interval in _DAYS:
        return int((begin + timedelta(days=_DAYS[interval] * count)).timestamp())
    year, month = divmod(begin.month - 1 + _MONTHS[interval] * count, 12)
    day = min(begin.day, calendar.monthrange(begin.year + year, month + 1)[1])
    return int(begin.replace(year=begin.year + year, month=month + 1, day=day).timestamp())


def renew(shop: Shop, subscription: Thing, *, ok: bool = True) -> Thing:
    """Begin and invoice the next period, which the bank takes or refuses. A cancelled subscription ends instead."""
    if subscription["cancel_at"]:
        return end(shop, subscription)
    items = subscription["items"]["data"]
    for one in items:
        one["current_period_start"] = one["current_period_end"]
        one["current_period_end"] = period_end(one["current_period_end"], one["price"]["recurring"])
    amount = sum(one["price"]["unit_amount"] * one["quantity"] for one in items)
    made = invoices.invoice(shop, subscription, amount, "subscription_cycle")
    shop.emit("customer.subscription.updated", subscription)
    return collect(shop, subscription, made, ok=ok)


def change(shop: Shop, subscription: Thing, params: Thing) -> Thing:
    """Cancel it at the end of the paid period or by a date, or take that back, each by its parameter; charge another
    method; give an item another price. Raises StripeError for one that has ended.
    """
    if subscription["status"] == "canceled":
        sentence = "A canceled subscription can only update its cancellation_details and metadata."
        raise StripeError(400, sentence, code="resource_missing")
    ends, at = params.get("cancel_at_period_end", subscription["cancel_at_period_end"]), params.get("cancel_at")
    if ends != subscription["cancel_at_period_end"] or at is not None:
        last = max(one["current_period_end"] for one in subscription["items"]["data"])
        before = {name: subscription[name] for name in ("cancel_at_period_end", "cancel_at", "canceled_at")}
        subscription |= {"cancel_at_period_end": ends, "cancel_at": at or (last if ends else None)}
        subscription["canceled_at"] = shop.now if subscription["cancel_at"] else None
        shop.emit("customer.subscription.updated", subscription, before)
    if "default_payment_method" in params:
        method = shop.get("payment_method", params["default_payment_method"], "default_payment_method", 400)
        if method["customer"] != subscription["customer"]:
            sentence = "The customer does not have a payment method with that ID: it must be attached to the customer."
            raise StripeError(400, sentence, code="resource_missing")
        before = {"default_payment_method": subscription["default_payment_method"]}
        subscription["default_payment_method"] = method["id"]
        shop.emit("customer.subscription.updated", subscription, before)
    if "items" in params:
        reprice(shop, subscription, params)
    return subscription


def reprice(shop: Shop, subscription: Thing, params: Thing) -> None:
    """The new price counts from the next period on. Raises StripeError for what is not simulated: prorations, another
    currency or interval, other items.
    """
    if params.get("proration_behavior") != "none":
        raise StripeError(400, "SANDBOX: prices change with proration_behavior=none only.")
    before = {"items": copy.deepcopy(subscription["items"])}
    for wanted in params["items"]:
        known = next((one for one in subscription["items"]["data"] if one["id"] == wanted.get("id")), None)
        if known is None:
            raise StripeError(404, f"No such subscription_item: '{wanted.get('id')}'", code="resource_missing")
        old, data = known["price"], wanted["price_data"]
        rhythm = {"interval_count": 1} | data["recurring"]
        if data["currency"] != old["currency"] or any(old["recurring"][name] != rhythm[name] for name in rhythm):
            raise StripeError(400, "SANDBOX: currency and interval of a subscription stay as they are.")
        if data["product"] != old["product"]:
            raise StripeError(404, f"No such product: '{data['product']}'", code="resource_missing")
        amount = data["unit_amount"]
        price = old | {"id": new_id("price"), "unit_amount": amount, "unit_amount_decimal": str(amount)}
        known |= {"price": price, "plan": plan(price)}
    shop.emit("customer.subscription.updated", subscription, before)


def end(shop: Shop, subscription: Thing) -> Thing:
    """End it at once, by the API or from the dashboard. Safe to repeat."""
    if subscription["status"] != "canceled":
        subscription |= {"status": "canceled", "canceled_at": shop.now, "ended_at": shop.now}
        shop.emit("customer.subscription.deleted", subscription)
    return subscription
