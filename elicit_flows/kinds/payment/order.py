"""What an agent asks for as an order: lines, the tax on them, and its own number and purpose. Mode pay.

The agent gives the tax, or leaves it to the payment provider (``BY_PROVIDER``). Then it is known only once the person
has said where they live, and the amount that was asked for is the most that may be charged.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.lib import text

MAX_LINES = 50  # Stripe takes 100 lines, and the tax is one
MAX_NAME = 120  # PayPal takes 127
MAX_QUANTITY = 10_000
MAX_AMOUNT = 99_999_999  # of a line and of the tax: Stripe accepts at most eight digits
MAX_NUMBER = 64
MAX_PURPOSE = 250
BY_PROVIDER = "provider"
_NAMES = ("lines", "tax", "number", "purpose", "invoice")
_OF_LINE = ("name", "quantity", "unit_amount")

Wrong = list[tuple[list[str | int], str]]


def clean(given: Any) -> tuple[Json, Wrong]:
    """``{lines: [{name, quantity, unit_amount}], tax, number, purpose, invoice?}`` in minor units, and what is wrong:
    where in the order, and what to do. ``tax`` may be BY_PROVIDER; it is 0, ``number`` and ``purpose`` are None if they
    are left out. ``invoice`` is there if it is true.
    """
    if not isinstance(given, dict):
        return {}, [([], "Say what is bought: {lines: [{name, quantity, unit_amount}], tax}.")]
    wrong: Wrong = [
        ([name], f"There is no such value; use {', '.join(_NAMES)}.") for name in given if name not in _NAMES
    ]
    lines = given.get("lines")
    if not isinstance(lines, list) or not 1 <= len(lines) <= MAX_LINES:
        wrong.append((["lines"], f"Give 1 to {MAX_LINES} lines: {{name, quantity, unit_amount}}."))
        lines = []
    order: Json = {"lines": [], "tax": 0 if given.get("tax") is None else given["tax"]}
    for number, one in enumerate(lines):
        line, problems = _line(one)
        order["lines"].append(line)
        wrong += [(["lines", number, *where], what) for where, what in problems]
    if order["tax"] != BY_PROVIDER and not _is_number(order["tax"], 0, MAX_AMOUNT):
        what = f'Give a whole number of minor units from 0 to {MAX_AMOUNT}, or "{BY_PROVIDER}", or leave it out.'
        wrong.append((["tax"], what))
    for name, most in (("number", MAX_NUMBER), ("purpose", MAX_PURPOSE)):
        order[name] = one_line(given.get(name))
        if order[name] is not None and not _is_text(order[name], most):
            wrong.append(([name], f"Give 1 to {most} visible characters, or leave it out."))
    if given.get("invoice") not in (None, False, True):
        wrong.append((["invoice"], "Give true or false, or leave it out."))
    elif given.get("invoice"):
        order["invoice"] = True
        if order["tax"] == BY_PROVIDER:
            # Of a payment that is held first, no provider is known to make an invoice.
            wrong.append(
                (["invoice"], "Leave it out, or give the tax: there is no invoice with a tax by the provider.")
            )
    return order, wrong


def _line(given: Any) -> tuple[Json, Wrong]:
    if not isinstance(given, dict):
        return {}, [([], "Give {name, quantity, unit_amount}.")]
    wrong: Wrong = [
        ([name], f"There is no such value; use {', '.join(_OF_LINE)}.") for name in given if name not in _OF_LINE
    ]
    line = {name: given.get(name) for name in _OF_LINE}
    line["name"] = one_line(line["name"])
    line["quantity"] = 1 if line["quantity"] is None else line["quantity"]
    if not _is_text(line["name"], MAX_NAME):
        wrong.append((["name"], f"Give 1 to {MAX_NAME} visible characters that say what is bought."))
    if not _is_number(line["quantity"], 1, MAX_QUANTITY):
        wrong.append((["quantity"], f"Give a whole number from 1 to {MAX_QUANTITY}."))
    if not _is_number(line["unit_amount"], 0, MAX_AMOUNT):
        wrong.append((["unit_amount"], f"Give a whole number of minor units from 0 to {MAX_AMOUNT}: the price of one."))
    return line, wrong


def one_line(value: Any) -> Any:
    """Text as one line without invisible characters; anything else as it is."""
    return " ".join(text.visible(value).split()) if isinstance(value, str) else value


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most


def _is_number(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def subtotal(order: Json) -> int:
    """The lines without the tax, in minor units."""
    return sum(line["quantity"] * line["unit_amount"] for line in order["lines"])


def by_provider(order: Json | None) -> bool:
    """Whether the provider computes the tax."""
    return order is not None and order["tax"] == BY_PROVIDER


def shown(order: Json, tax: int | None = None) -> Json:
    """The order with the ``amount`` of each line, for pages. ``tax``: what the provider has computed. ``tax_later``: it
    has not yet.
    """
    lines = [{**line, "amount": line["quantity"] * line["unit_amount"]} for line in order["lines"]]
    known = tax if by_provider(order) else order["tax"]
    return {**order, "lines": lines, "tax": known or 0, "tax_later": known is None, "subtotal": subtotal(order)}
