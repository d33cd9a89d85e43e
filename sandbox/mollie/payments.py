"""Payments: creation, status changes, and how they are shown."""

from __future__ import annotations

from typing import Any

from sandbox.mollie import money
from sandbox.mollie.double import Double, Thing, new_id
from sandbox.mollie.errors import MollieError, unfit
from sandbox.mollie.parameters import PAYMENT, checked

LIVES = 15 * 60  # seconds after which an open payment without a method expires
TRANSFERRED_WITHIN = 14 * 24 * 3600  # the same of a bank transfer
TOLD = {"paid", "failed", "canceled", "expired"}  # Mollie sends no webhook for open and pending
MAX_DESCRIPTION = 255


def create(double: Double, profile: str, given: Any) -> Thing:
    asked = checked(given, PAYMENT, ("amount", "description", "redirectUrl"))
    minor, currency = money.read(asked["amount"])
    if "lines" in asked and sum(money.read(one["totalAmount"], least=0)[0] for one in asked["lines"]) != minor:
        raise unfit("lines", "The lines do not come to the amount")
    payment: Thing = {
        "resource": "payment",
        "id": new_id("tr"),
        "mode": "test",
        "createdAt": double.moment(double.now()),
        "amount": money.written(minor, currency),
        "description": asked["description"][:MAX_DESCRIPTION],
        **({"lines": asked["lines"]} if "lines" in asked else {}),
        "method": None,
        "metadata": asked.get("metadata"),
        "status": "open",
        "expiresAt": double.moment(double.now() + LIVES),
        "profileId": profile,
        "sequenceType": "oneoff",
        "redirectUrl": asked["redirectUrl"],
        **{name: asked[name] for name in ("cancelUrl", "webhookUrl") if name in asked},
        "_profile": profile,
        "_minor": minor,
        "_over": double.now() + LIVES,
        "_refunds": [],
        "_chargebacks": [],
    }
    double.payments[payment["id"]] = payment
    return payment


def become(double: Double, payment: Thing, status: str, method: str | None = None) -> None:
    """Set the status, and send the merchant a webhook if Mollie would."""
    payment["status"] = status
    payment["method"] = method or payment["method"]
    if is_transfer(payment):
        payment["_over"] = double.now() + TRANSFERRED_WITHIN
        payment["expiresAt"] = double.moment(payment["_over"])
    if status in TOLD:
        payment[f"{status}At"] = double.moment(double.now())
        double.hooks.tell(payment.get("webhookUrl"), payment["id"])


def is_transfer(payment: Thing) -> bool:
    """Whether the buyer is told where to send the money. Mollie leaves such a payment open until it arrives."""
    return (payment["status"], payment["method"]) == ("open", "banktransfer")


def pay(double: Double, payment: Thing, method: str, status: str) -> None:
    """Pay on the payment page; with another amount than requested, if that was ordered."""
    if double.bent is not None:
        payment["_minor"] = double.bent
        payment["amount"] = money.written(double.bent, payment["amount"]["currency"])
    become(double, payment, status, method)


def cancel(double: Double, payment: Thing) -> None:
    if not is_cancelable(double, payment):
        raise MollieError(422, "The payment cannot be canceled")
    become(double, payment, "canceled")


def is_cancelable(double: Double, payment: Thing) -> bool:
    return payment["status"] == "open" and double.cancelable


def expire_due(double: Double) -> None:
    for payment in list(double.payments.values()):
        if payment["status"] == "open" and payment["_over"] <= double.now():
            become(double, payment, "expired")


def refunded(payment: Thing) -> int:
    """Minor units that are refunded or being refunded."""
    return sum(one["_minor"] for one in payment["_refunds"] if one["status"] not in {"failed", "canceled"})


def shown(double: Double, payment: Thing, embed: tuple[str, ...] = ()) -> Thing:
    """Mollie's answer, without the members that begin with an underscore."""
    answer = plain(payment)
    currency, status = payment["amount"]["currency"], payment["status"]
    if status in {"open", "pending"}:
        answer["isCancelable"] = is_cancelable(double, payment)
    if status != "open":
        answer.pop("expiresAt")
    if status == "paid":
        back = refunded(payment)
        answer["amountRefunded"] = money.written(back, currency)
        answer["amountRemaining"] = money.written(payment["_minor"] - back, currency)
    answer["_links"] = links(double, payment)
    if embed:
        answer["_embedded"] = {name: [plain(one) for one in payment[f"_{name}"][::-1]] for name in embed}
    return answer


def plain(thing: Thing) -> Thing:
    return {name: value for name, value in thing.items() if not name.startswith("_") or name == "_links"}


def links(double: Double, payment: Thing) -> Thing:
    here = f"{double.root}/v2/payments/{payment['id']}"
    found = {"self": here} | {name: f"{here}/{name}" for name in ("refunds", "chargebacks") if payment[f"_{name}"]}
    hal = {name: {"href": href, "type": "application/hal+json"} for name, href in found.items()}
    if payment["status"] == "open":
        hal["checkout"] = {"href": f"{double.root}/checkout/{payment['id']}", "type": "text/html"}
    hal["documentation"] = {"href": "https://docs.mollie.com/reference/get-payment", "type": "text/html"}
    return hal
