"""The account's balance: one transaction for whatever moves money, as docs.stripe.com/reports/balance-transaction-types
names them.
"""

from __future__ import annotations

from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

KIND = "balance_transaction"
TWO_DAYS = 2 * 86_400
DISPUTE_FEE = 1500  # minor units


def enter(shop: Shop, source: Thing, type: str, category: str, amount: int, fee: int = 0) -> Thing:
    """``amount`` in minor units, negative for money that leaves. The fee is taken off whatever the amount."""
    details = {"amount": fee, "application": None, "currency": source["currency"], "type": "stripe_fee"}
    return shop.put(
        {
            "id": new_id("txn"),
            "object": KIND,
            "amount": amount,
            "available_on": shop.now + TWO_DAYS,
            "balance_type": "payments",
            "created": shop.now,
            "currency": source["currency"],
            "description": source.get("description"),
            "exchange_rate": None,
            "fee": fee,
            "fee_details": [details | {"description": "SANDBOX: processing fee"}] if fee else [],
            "net": amount - fee,
            "reporting_category": category,
            "source": source["id"],
            "status": "pending",
            "type": type,
        }
    )


def charged(shop: Shop, charge: Thing) -> str:
    """The id of the transaction of a charge whose money has arrived. The fee is that of a European card."""
    sort = "charge" if charge["id"].startswith("ch_") else "payment"
    amount, share = charge["amount_captured"], charge["application_fee_amount"] or 0
    made = enter(shop, charge, sort, "charge", amount, amount * 15 // 1000 + 25)
    if share:
        taken = {"application": charge["application"], "description": "SANDBOX: application fee"}
        made["fee_details"].append(made["fee_details"][0] | taken | {"amount": share, "type": "application_fee"})
        made |= {"fee": made["fee"] + share, "net": made["net"] - share}
    return str(made["id"])


def refunded(shop: Shop, refund: Thing) -> str:
    """The money is taken from the balance when the refund is made, also of one that the bank still has to take."""
    sort = "refund" if refund["charge"].startswith("ch_") else "payment_refund"
    return str(enter(shop, refund, sort, "refund", -refund["amount"])["id"])


def refund_failed(shop: Shop, refund: Thing) -> str:
    return str(enter(shop, refund, "refund_failure", "refund_failure", refund["amount"])["id"])


def disputed(shop: Shop, dispute: Thing) -> Thing:
    return enter(shop, dispute, "adjustment", "dispute", -dispute["amount"], DISPUTE_FEE)


def dispute_won(shop: Shop, dispute: Thing) -> Thing:
    return enter(shop, dispute, "adjustment", "dispute_reversal", dispute["amount"], -DISPUTE_FEE)
