"""Line items, each with the price that was made for it."""

from __future__ import annotations

from sandbox.stripe.errors import invalid, required
from sandbox.stripe.money import check_currency
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

MOST = {"payment": 100, "subscription": 40}


def build_items(shop: Shop, asked: list[Thing], mode: str) -> list[Thing]:
    if len(asked) > MOST.get(mode, 0):
        raise invalid("line_items", f"At most {MOST[mode]} line items are allowed.")
    items = [build_item(shop, one, f"line_items[{number}]", mode) for number, one in enumerate(asked)]
    if len({one["currency"] for one in items}) > 1:
        raise invalid("line_items", "All line items have to be in the same currency.")
    if mode == "subscription" and not any(one["price"]["recurring"] for one in items):
        raise invalid("line_items", "In `subscription` mode at least one price has to be recurring.")
    return items


def total(items: list[Thing]) -> int:
    return sum(one["amount_total"] for one in items)


def build_item(shop: Shop, asked: Thing, said: str, mode: str) -> Thing:
    data = asked.get("price_data")
    if data is None:
        raise required(f"{said}[price_data]")
    if "quantity" not in asked:
        raise required(f"{said}[quantity]")
    price = build_price(shop, data, f"{said}[price_data]", mode)
    amount = price["unit_amount"] * asked["quantity"]
    return {
        "id": new_id("li"),
        "object": "item",
        "adjustable_quantity": None,
        "amount_discount": 0,
        "amount_subtotal": amount,
        "amount_tax": 0,
        "amount_total": amount,
        "currency": price["currency"],
        "description": data["product_data"]["name"],
        "metadata": {},
        "price": price,
        "quantity": asked["quantity"],
    }


def build_price(shop: Shop, data: Thing, said: str, mode: str) -> Thing:
    for name in ("currency", "unit_amount", "product_data"):
        if name not in data:
            raise required(f"{said}[{name}]")
    if "name" not in data["product_data"]:
        raise required(f"{said}[product_data][name]")
    if data["unit_amount"] < 0:
        raise invalid(f"{said}[unit_amount]", "Invalid non-negative integer", "parameter_invalid_integer")
    if "recurring" in data and mode != "subscription":
        raise invalid(f"{said}[recurring]", "A recurring price needs `subscription` mode.")
    check_currency(data["currency"], f"{said}[currency]")
    return price(shop, data, recurring(data, said))


def recurring(data: Thing, said: str) -> Thing | None:
    asked = data.get("recurring")
    if asked is None:
        return None
    if "interval" not in asked:
        raise required(f"{said}[recurring][interval]")
    rhythm = {"interval": asked["interval"], "interval_count": asked.get("interval_count", 1)}
    return {**rhythm, "meter": None, "trial_period_days": None, "usage_type": "licensed"}


def price(shop: Shop, data: Thing, rhythm: Thing | None) -> Thing:
    return {
        "id": new_id("price"),
        "object": "price",
        "active": False,
        "billing_scheme": "per_unit",
        "created": shop.now,
        "currency": data["currency"],
        "custom_unit_amount": None,
        "livemode": False,
        "lookup_key": None,
        "metadata": {},
        "nickname": None,
        "product": new_id("prod"),
        "recurring": rhythm,
        "tax_behavior": data.get("tax_behavior", "unspecified"),
        "tiers_mode": None,
        "transform_quantity": None,
        "type": "recurring" if rhythm else "one_time",
        "unit_amount": data["unit_amount"],
        "unit_amount_decimal": str(data["unit_amount"]),
    }
