"""Stripe's balance transactions as lines (docs.stripe.com/reports/balance-transaction-types, reporting categories)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import stripe

from elicit_flows.kinds.payment.providers.stripe import reading
from elicit_flows.kinds.payment.providers.stripe.client import plain
from elicit_flows.kinds.payment.providers.stripe.session import OUR_ID
from elicit_flows.kinds.payment.values import BalanceLine, BalancePage, Movement

PAGE = 25  # transactions: some need a request of their own, and a page has one deadline
FIRST = "subscription_create"  # the reason of an invoice that the checkout itself paid
INVOICE_SLACK = 3600  # seconds between a charge and the record that its invoice was paid by it
# The category, and whether money came in. The amounts of refunds and disputes are positive at their objects.
_CATEGORIES = {
    "charge": (Movement.CHARGE, 1),
    "charge_failure": (Movement.CHARGE, -1),  # a delayed payment that the bank took back
    "refund": (Movement.REFUND, -1),
    "refund_failure": (Movement.REFUND, 1),
    "dispute": (Movement.DISPUTE, -1),
    "dispute_reversal": (Movement.DISPUTE, 1),
}


def page(client: stripe.StripeClient, since: datetime, until: datetime, after: str) -> BalancePage:
    params: Any = {
        "created": {"gte": int(since.timestamp()), "lt": int(until.timestamp())},
        "limit": PAGE,
        "expand": ["data.source"],
        **({"starting_after": after} if after else {}),
    }
    found = plain(client.v1.balance_transactions.list(params), "data")
    # A subscription's charges name neither the subscription nor our id.
    unnamed = [
        one
        for one in found["data"]
        if one.get("reporting_category") in _CATEGORIES and OUR_ID not in reading.within(one, "source", "metadata")
    ]
    times = [one["created"] for one in unnamed]
    around = {"gte": min(times) - INVOICE_SLACK, "lte": max(times) + INVOICE_SLACK} if times else {}
    invoices = _invoices(client, {"created": around}) if times else {}
    for source in (reading.within(one, "source") for one in unnamed):
        intent = reading.id_of(source.get("payment_intent"))
        # Stripe makes that record with the invoice. The bank may take the charge, and the payer it back, weeks later.
        if intent and intent not in invoices and (source.get("object") != "charge" or source.get("customer")):
            of_one = {"payment": {"type": "payment_intent", "payment_intent": intent}}
            invoices |= {intent: {}} | _invoices(client, of_one)
    more = bool(found.get("has_more") and found["data"])
    lines = tuple(_line(one, invoices) for one in found["data"])
    return BalancePage(lines, found["data"][-1]["id"] if more else "")


def _line(transaction: reading.Thing, invoices: dict[str, reading.Thing]) -> BalanceLine:
    movement, sign = _CATEGORIES.get(str(transaction.get("reporting_category")), (Movement.OTHER, 0))
    source = reading.within(transaction, "source")
    intent = reading.id_of(source.get("payment_intent"))
    invoice = invoices.get(intent or "", {})
    subscription = reading.id_of(reading.within(invoice, "parent", "subscription_details").get("subscription"))
    return BalanceLine(
        ref=transaction["id"],
        movement=movement,
        at=datetime.fromtimestamp(transaction["created"], UTC),
        # The source's amount: that of the transaction is in the currency of the account.
        amount=sign * (source.get("amount_captured") or source.get("amount") or 0),
        currency=source.get("currency") or transaction["currency"],
        payment_ref=(subscription or intent) if sign else None,
        our_id=reading.within(source, "metadata").get(OUR_ID),
        refund_ref=source.get("id") if movement is Movement.REFUND else None,
        renewal_ref=invoice["id"] if subscription and invoice.get("billing_reason") != FIRST else None,
    )


def _invoices(client: stripe.StripeClient, which: dict[str, Any]) -> dict[str, reading.Thing]:
    """The invoice that each PaymentIntent paid, of the records that ``which`` filters."""
    params: Any = {**which, "status": "paid", "limit": PAGE, "expand": ["data.invoice"]}
    found: dict[str, reading.Thing] = {}
    while True:
        answer = plain(client.v1.invoice_payments.list(params), "data")
        for one in answer["data"]:
            intent, invoice = reading.within(one, "payment").get("payment_intent"), reading.within(one, "invoice")
            if "id" in invoice:
                found[reading.id_of(intent) or ""] = invoice
        if not answer.get("has_more") or not answer["data"]:
            return found
        params |= {"starting_after": answer["data"][-1]["id"]}
