"""Orders, captures, refunds and disputes: how they come about, how they change, and how they are shown."""

from __future__ import annotations

from typing import Any

from sandbox.paypal import money, parameters
from sandbox.paypal.double import Double, Thing, new_id, payments, plain
from sandbox.paypal.errors import PayPalError, missing

LIVES = 3 * 3600  # seconds without a capture after which PayPal forgets an order
REFUNDS = {
    "COMPLETED": "PAYMENT.CAPTURE.REFUNDED",
    "PENDING": "PAYMENT.REFUND.PENDING",
    "FAILED": "PAYMENT.REFUND.FAILED",
}
OUTCOMES = {"won": "RESOLVED_SELLER_FAVOUR", "lost": "RESOLVED_BUYER_FAVOUR"}


def create(double: Double, merchant: str, given: Any) -> Thing:
    unit, context = parameters.order(given)
    minor, currency = money.read(unit["amount"])
    order: Thing = {
        "id": new_id(),
        "intent": "CAPTURE",
        "status": "PAYER_ACTION_REQUIRED",
        "create_time": double.moment(),
        "payment_source": {"paypal": {}},
        "purchase_units": [
            {
                "reference_id": "default",
                "amount": {**money.written(minor, currency), **parts(unit)},
                **({"items": unit["items"]} if "items" in unit else {}),
                "payee": {"merchant_id": merchant},
                **({"description": unit["description"][:127]} if "description" in unit else {}),
                **({"custom_id": unit["custom_id"]} if "custom_id" in unit else {}),
            }
        ],
        "_merchant": merchant,
        "_minor": minor,
        "_currency": currency,
        "_over": double.now() + LIVES,
        "_how": "",
        "_back": context["return_url"],
        "_cancel": context["cancel_url"],
    }
    double.orders[order["id"]] = order
    return order


def parts(unit: Thing) -> Thing:
    return {"breakdown": unit["amount"]["breakdown"]} if "breakdown" in unit["amount"] else {}


def approve(double: Double, order: Thing, how: str) -> None:
    """The buyer agrees to pay ``how`` (pay, pay_bank, pay_declined). Nothing is taken before a capture."""
    order["status"], order["_how"] = "APPROVED", how
    order["_over"] = double.now() + LIVES
    double.offset += 1  # no two agreements are in the same second, by which they are told apart
    order["payer"] = {"payer_id": "SANDBOXBUYER1", "email_address": "buyer@example.com"}
    changed(double, order, "CHECKOUT.ORDER.APPROVED", "checkout-order", order)


def changed(double: Double, order: Thing, kind: str, resource_type: str, resource: Thing) -> None:
    order["update_time"] = double.moment()
    double.tell(order["_merchant"], kind, resource_type, resource)


def capture(double: Double, order: Thing) -> None:
    if order["status"] == "COMPLETED":
        raise PayPalError(422, "ORDER_ALREADY_CAPTURED", "Order already captured.")
    if order["status"] != "APPROVED":
        raise PayPalError(422, "ORDER_NOT_APPROVED", "Payer has not yet approved the Order for payment.")
    if order["_how"] == "pay_declined":
        raise PayPalError(422, "INSTRUMENT_DECLINED", "The instrument presented was declined.", kept=True)
    minor = order["_minor"] if double.bent is None else double.bent
    pending = order["_how"] == "pay_bank"
    unit = order["purchase_units"][0]
    ref = new_id()
    here = f"{double.root}/v2/payments/captures/{ref}"
    taken: Thing = {
        "id": ref,
        "status": "PENDING" if pending else "COMPLETED",
        **({"status_details": {"reason": "ECHECK"}} if pending else {}),
        "amount": money.written(minor, order["_currency"]),
        "final_capture": True,
        "create_time": double.moment(),
        "update_time": double.moment(),
        **({"custom_id": unit["custom_id"]} if "custom_id" in unit else {}),
        "links": [
            link(here, "self"),
            link(f"{here}/refund", "refund", "POST"),
            link(f"{double.root}/v2/checkout/orders/{order['id']}", "up"),
        ],
        "_minor": minor,
    }
    order["status"] = "COMPLETED"
    unit["payments"] = {"captures": [taken], "refunds": []}
    tell_capture(double, order, "PENDING" if pending else "COMPLETED")


def tell_capture(double: Double, order: Thing, what: str) -> None:
    taken = payments(order)["captures"][0]
    changed(double, order, f"PAYMENT.CAPTURE.{what}", "capture", shown_capture(order, taken))


def settle(double: Double, order: Thing, *, ok: bool) -> None:
    """The bank decides about a pending capture."""
    captures = payments(order)["captures"]
    if not captures or captures[0]["status"] != "PENDING":
        raise PayPalError(422, "SANDBOX", "SANDBOX: there is no pending capture")
    captures[0].pop("status_details")
    captures[0]["status"], captures[0]["update_time"] = "COMPLETED" if ok else "DECLINED", double.moment()
    tell_capture(double, order, "COMPLETED" if ok else "DENIED")


def shown_capture(order: Thing, taken: Thing) -> Thing:
    related = {"supplementary_data": {"related_ids": {"order_id": order["id"]}}}
    return plain(taken) | related | {"payee": {"merchant_id": order["_merchant"]}}


def refund(double: Double, order: Thing, taken: Thing, given: Any, status: str = "COMPLETED") -> Thing:
    asked = parameters.refund(given)
    left = taken["_minor"] - refunded(order)
    if taken["status"] not in {"COMPLETED", "PARTIALLY_REFUNDED"}:
        issue = "CAPTURE_FULLY_REFUNDED" if taken["status"] == "REFUNDED" else "CAPTURE_STATUS_INVALID"
        raise PayPalError(422, issue)
    minor, currency = money.read(asked["amount"]) if "amount" in asked else (left, order["_currency"])
    if currency != order["_currency"]:
        raise PayPalError(422, "CURRENCY_MISMATCH", field="/amount/currency_code")
    if minor > left:
        raise PayPalError(422, "REFUND_AMOUNT_EXCEEDED", field="/amount/value")
    ref = new_id()
    made: Thing = {
        "id": ref,
        "status": status,
        "amount": money.written(minor, currency),
        **{name: asked[name] for name in ("custom_id", "note_to_payer") if name in asked},
        "create_time": double.moment(),
        "update_time": double.moment(),
        "links": [
            link(f"{double.root}/v2/payments/refunds/{ref}", "self"),
            link(f"{double.root}/v2/payments/captures/{taken['id']}", "up"),
        ],
        "_minor": minor,
    }
    order["purchase_units"][0]["payments"]["refunds"].append(made)
    tell_refund(double, order, made)
    return made


def refund_becomes(double: Double, id: str, status: str) -> None:
    for order in double.orders.values():
        for made in payments(order)["refunds"]:
            if made["id"] == id:
                made["status"], made["update_time"] = status, double.moment()
                return tell_refund(double, order, made)
    raise missing()


def tell_refund(double: Double, order: Thing, made: Thing) -> None:
    taken = payments(order)["captures"][0]
    back = refunded(order)
    taken["status"] = "REFUNDED" if back == taken["_minor"] else "PARTIALLY_REFUNDED" if back else "COMPLETED"
    changed(double, order, REFUNDS[made["status"]], "refund", made)


def refunded(order: Thing) -> int:
    return sum(one["_minor"] for one in payments(order)["refunds"] if one["status"] != "FAILED")


def dispute(double: Double, order: Thing, outcome: str) -> None:
    """The buyer disputes what was captured ("open"); PayPal decides ("won" or "lost")."""
    taken = payments(order)["captures"][0]
    if outcome == "open":
        ref = f"PP-D-{len(double.disputes) + 1}"
        double.disputes[ref] = {
            "dispute_id": ref,
            "create_time": double.moment(),
            "update_time": double.moment(),
            "disputed_transactions": [{"seller_transaction_id": taken["id"]}],
            "reason": "MERCHANDISE_OR_SERVICE_NOT_RECEIVED",
            "status": "WAITING_FOR_SELLER_RESPONSE",
            "seller_response_due_date": double.moment(days=10),
            "dispute_amount": taken["amount"],
            "dispute_life_cycle_stage": "INQUIRY",
            "links": [link(f"{double.root}/v1/customer/disputes/{ref}", "self")],
            "_merchant": order["_merchant"],
            "_entry": new_id(),  # what takes the money back, if the buyer wins
        }
        return double.tell(order["_merchant"], "CUSTOMER.DISPUTE.CREATED", "dispute", double.disputes[ref])
    found = next(one for one in double.disputes.values() if about(one) == taken["id"])
    found |= {"status": "RESOLVED", "dispute_outcome": {"outcome_code": OUTCOMES[outcome]}}
    found["update_time"] = double.moment()
    return double.tell(order["_merchant"], "CUSTOMER.DISPUTE.RESOLVED", "dispute", found)


def about(dispute: Thing) -> str:
    return str(dispute["disputed_transactions"][0]["seller_transaction_id"])


def summary(dispute: Thing) -> Thing:
    """In a list, without what only the details have."""
    hidden = {"disputed_transactions", "dispute_outcome"}
    return {name: value for name, value in plain(dispute).items() if name not in hidden}


def shown(double: Double, order: Thing, *, minimal: bool = False) -> Thing:
    here = f"{double.root}/v2/checkout/orders/{order['id']}"
    links = [link(here, "self")]
    if order["status"] == "PAYER_ACTION_REQUIRED":
        links.append(link(f"{double.root}/checkoutnow?token={order['id']}", "payer-action"))
    if order["status"] == "APPROVED":
        links.append(link(f"{here}/capture", "capture", "POST"))
    if minimal:
        return {name: order[name] for name in ("id", "status", "payment_source")} | {"links": links}
    unit = dict(order["purchase_units"][0])
    if "payments" in unit:
        unit["payments"] = {name: [plain(one) for one in found] for name, found in unit["payments"].items() if found}
    return plain(order) | {"purchase_units": [unit], "links": links}


def link(href: str, rel: str, method: str = "GET") -> Thing:
    return {"href": href, "rel": rel, "method": method}
