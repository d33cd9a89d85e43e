"""Transaction Search: what moved money, as developer.paypal.com/docs/api/transaction-search/v1 shows it.

Simplified: a transaction is in it at once, and PayPal's fee is the same for all of them. A dispute moves money when the
buyer wins it; holds are not simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sandbox.paypal import money
from sandbox.paypal.double import Double, Thing, payments
from sandbox.paypal.errors import unfit

NEEDED = ("start_date", "end_date")
QUERY = {*NEEDED, "fields", "balance_affecting_records_only", "page_size", "page"}
LONGEST, MOST = timedelta(days=31), 500
DONE = {"COMPLETED", "PARTIALLY_REFUNDED", "REFUNDED"}  # captures whose money has come
FEE = 35  # in the smallest unit


def search(double: Double, merchant: str, asked: dict[str, str]) -> Thing:
    """The oldest first. Raises PayPalError."""
    since, until = (moment(asked, name) for name in NEEDED)
    if not timedelta(0) <= until - since <= LONGEST:
        raise unfit("end_date", "INVALID_PARAMETER_VALUE", "Date range is greater than 31 days")
    if asked.get("fields", "transaction_info") != "transaction_info":
        raise unfit("fields", "NOT_SUPPORTED", "SANDBOX: only transaction_info is simulated")
    size, page = (whole(asked, name, usual) for name, usual in (("page_size", 100), ("page", 1)))
    mine = [order for order in double.orders.values() if order["_merchant"] == merchant]
    moved = [one for order in mine for one in (*of_order(order), *of_disputes(double, order))]
    moved = [one for one in moved if since <= datetime.fromisoformat(one["transaction_initiation_date"]) <= until]
    moved.sort(key=lambda one: str(one["transaction_initiation_date"]))
    return {
        "transaction_details": [{"transaction_info": one} for one in moved[(page - 1) * size : page * size]],
        "account_number": merchant,
        **{name: asked[name] for name in NEEDED},
        "last_refreshed_datetime": double.moment(),
        "page": page,
        "total_items": len(moved),
        "total_pages": -(-len(moved) // size),
        "links": [],
    }


def of_order(order: Thing) -> Iterable[Thing]:
    made = payments(order)
    for taken in made["captures"]:
        if taken["status"] in DONE:
            yield info(order, taken, "T0006", taken["_minor"]) | fee(order)
        for back in made["refunds"]:
            if back["status"] == "COMPLETED":
                yield info(order, back, "T1107", -back["_minor"], taken["id"])


def of_disputes(double: Double, order: Thing) -> Iterable[Thing]:
    for taken in payments(order)["captures"]:
        for one in double.disputes.values():
            about = one["disputed_transactions"][0]["seller_transaction_id"]
            lost = one.get("dispute_outcome", {}).get("outcome_code") == "RESOLVED_BUYER_FAVOUR"
            if about == taken["id"] and lost:
                entry = {"id": one["_entry"], "create_time": one["update_time"], "update_time": one["update_time"]}
                yield info(order, entry, "T1106", -taken["_minor"], taken["id"])


def info(order: Thing, thing: Thing, code: str, minor: int, about: str = "") -> Thing:
    written = money.written(abs(minor), order["_currency"])
    return {
        "transaction_id": thing["id"],
        **({"paypal_reference_id": about, "paypal_reference_id_type": "TXN"} if about else {}),
        "transaction_event_code": code,
        "transaction_initiation_date": thing["create_time"],
        "transaction_updated_date": thing["update_time"],
        "transaction_amount": {**written, "value": f"-{written['value']}" if minor < 0 else written["value"]},
        "transaction_status": "S",
        **({"custom_field": thing["custom_id"]} if "custom_id" in thing else {}),
    }


def fee(order: Thing) -> Thing:
    taken = money.written(FEE, order["_currency"])
    return {"fee_amount": {**taken, "value": f"-{taken['value']}"}}


def moment(asked: dict[str, str], name: str) -> datetime:
    try:
        found = datetime.fromisoformat(asked.get(name, ""))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise unfit(name, "INVALID_PARAMETER_SYNTAX", "SANDBOX: give a time with an offset")
    return found


def whole(asked: dict[str, str], name: str, usual: int) -> int:
    text = asked.get(name, str(usual))
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise unfit(name, "INVALID_PARAMETER_VALUE")
    return int(text)
