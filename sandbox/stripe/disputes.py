"""Disputes: a payer who wants the money back from the bank."""

from __future__ import annotations

from sandbox.stripe import balance
from sandbox.stripe.errors import StripeError
from sandbox.stripe.shop import Shop, shown
from sandbox.stripe.store import Thing, new_id

KIND = "dispute"
WEEK = 7 * 86_400
_EVIDENCE = (
    *("access_activity_log", "billing_address", "cancellation_policy", "cancellation_policy_disclosure"),
    *("cancellation_rebuttal", "customer_communication", "customer_email_address", "customer_name"),
    *("customer_purchase_ip", "customer_signature", "duplicate_charge_documentation", "duplicate_charge_explanation"),
    *("duplicate_charge_id", "product_description", "receipt", "refund_policy", "refund_policy_disclosure"),
    *("refund_refusal_explanation", "service_date", "service_documentation", "shipping_address", "shipping_carrier"),
    *(
        "shipping_date",
        "shipping_documentation",
        "shipping_tracking_number",
        "uncategorized_file",
        "uncategorized_text",
    ),
)


def open_one(shop: Shop, charge: Thing) -> Thing:
    """The bank takes the money back for the time being."""
    if charge["status"] != "succeeded" or charge["disputed"]:
        raise StripeError(400, "SANDBOX: only a successful charge that is not disputed yet can be disputed.")
    charge["disputed"] = True
    dispute = shop.put(blank(shop, charge))
    dispute["balance_transactions"].append(shown(balance.disputed(shop, dispute)))
    shop.emit("charge.dispute.created", dispute)
    shop.emit("charge.dispute.funds_withdrawn", dispute)
    return dispute


def decide(shop: Shop, dispute: Thing, *, won: bool) -> Thing:
    """Won: the merchant keeps the money."""
    if dispute["status"] not in {"needs_response", "under_review"}:
        raise StripeError(400, f"SANDBOX: the dispute is {dispute['status']} already.")
    dispute["status"] = "won" if won else "lost"
    if won:
        shop.get("charge", dispute["charge"])["_refundable"] = True
        dispute["balance_transactions"].append(shown(balance.dispute_won(shop, dispute)))
        shop.emit("charge.dispute.funds_reinstated", dispute)
    shop.emit("charge.dispute.closed", dispute)
    return dispute


def blank(shop: Shop, charge: Thing) -> Thing:
    return {
        "id": new_id("du"),
        "object": KIND,
        "amount": charge["amount"] - charge["amount_refunded"],
        "balance_transactions": [],
        "charge": charge["id"],
        "created": shop.now,
        "currency": charge["currency"],
        "enhanced_eligibility_types": [],
        "evidence": {**dict.fromkeys(_EVIDENCE), "enhanced_evidence": {}},
        "evidence_details": {
            "due_by": shop.now + WEEK,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
            "submission_method": "not_submitted",
        },
        "is_charge_refundable": False,
        "livemode": charge["livemode"],
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "reason": "fraudulent",
        "status": "needs_response",
    }
