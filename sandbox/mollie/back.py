"""Refunds by the API and the dashboard, and chargebacks."""

from __future__ import annotations

from typing import Any

from sandbox.mollie import money, payments
from sandbox.mollie.double import Double, Thing, new_id
from sandbox.mollie.errors import MollieError, missing, unfit
from sandbox.mollie.parameters import REFUND, checked

OUTCOMES = ("processing", "refunded", "failed", "canceled")


def refund(double: Double, payment: Thing, given: Any) -> Thing:
    """Pending at first, until the bank has done it, see ``become``."""
    asked = checked(given, REFUND, ("amount",))
    minor, currency = money.read(asked["amount"])
    if payment["status"] != "paid":
        raise MollieError(422, "The payment cannot be refunded")
    if currency != payment["amount"]["currency"]:
        raise unfit("amount.currency", "The refund currency is not that of the payment")
    if minor > payment["_minor"] - payments.refunded(payment):
        raise unfit("amount", "The amount is higher than the maximum")
    made = made_of(double, payment, "refund", minor) | {
        "status": "pending",
        "description": asked.get("description", payment["description"]),
        "metadata": asked.get("metadata"),
    }
    payment["_refunds"].append(made)
    double.hooks.tell(payment.get("webhookUrl"), payment["id"])
    return made


def become(double: Double, refund: Thing, status: str) -> Thing:
    if refund["status"] in {"failed", "canceled"}:
        raise MollieError(422, f"SANDBOX: the refund is {refund['status']} already")
    refund["status"] = status
    double.hooks.tell(double.payments[refund["paymentId"]].get("webhookUrl"), refund["paymentId"])
    return refund


def chargeback(double: Double, payment: Thing) -> Thing:
    """The payer's bank takes the whole amount back."""
    if payment["status"] != "paid" or payment["_chargebacks"]:
        raise MollieError(422, "SANDBOX: only what is paid, and not yet charged back, can be charged back")
    made = made_of(double, payment, "chargeback", payment["_minor"])
    payment["_chargebacks"].append(made | {"reason": None, "reversedAt": None})
    double.hooks.tell(payment.get("webhookUrl"), payment["id"])
    return plain_last(payment)


def reverse(double: Double, payment: Thing) -> Thing:
    """The merchant gets the money back."""
    if not payment["_chargebacks"]:
        raise MollieError(422, "SANDBOX: there is no chargeback")
    payment["_chargebacks"][-1]["reversedAt"] = double.moment(double.now())
    double.hooks.tell(payment.get("webhookUrl"), payment["id"])
    return plain_last(payment)


def plain_last(payment: Thing) -> Thing:
    return payments.plain(payment["_chargebacks"][-1])


def made_of(double: Double, payment: Thing, kind: str, minor: int) -> Thing:
    name = new_id("re" if kind == "refund" else "chb")
    here = f"{double.root}/v2/payments/{payment['id']}"
    return {
        "resource": kind,
        "id": name,
        "amount": money.written(minor, payment["amount"]["currency"]),
        "paymentId": payment["id"],
        "createdAt": double.moment(double.now()),
        "_minor": minor,
        "_links": {
            "self": {"href": f"{here}/{kind}s/{name}", "type": "application/hal+json"},
            "payment": {"href": here, "type": "application/hal+json"},
        },
    }


def one_of(payment: Thing, name: str, id: str) -> Thing:
    for one in payment[f"_{name}"]:
        if one["id"] == id:
            return dict(one)
    raise missing(name.removesuffix("s"), id)
