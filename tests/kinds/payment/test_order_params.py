"""Which orders an agent may ask for, and what it is told of others."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment.kind import Payment

LINES: list[Json] = [
    {"name": "A notebook", "quantity": 2, "unit_amount": 450},
    {"name": "A pen", "unit_amount": 99},
]
ORDER: Json = {"lines": LINES, "tax": 190, "number": "PO-17", "purpose": "For the office"}


def asked(order: Any = ORDER, **changes: Any) -> Json:
    return {"amount": 1189, "currency": "eur", "description": "Stationery", "order": order} | changes


def refused(given: Json) -> list[tuple[list[object], str]]:
    with pytest.raises(Invalid) as caught:
        Payment().clean(given)
    return [(error["loc"], error["message"]) for error in caught.value.errors]  # type: ignore[misc]


def test_an_order_is_read_and_shown_with_what_each_line_costs() -> None:
    cleaned = Payment().clean(asked())
    lines = [LINES[0], {**LINES[1], "quantity": 1}]
    assert cleaned["order"] == {**ORDER, "lines": lines}
    assert Payment().clean(cleaned) == cleaned, "what was read is read alike again"
    shown = Payment().describe(cleaned, None)["order"]
    assert [line["amount"] for line in shown["lines"]] == [900, 99]


def test_the_tax_may_be_left_to_the_provider_up_to_the_amount() -> None:
    order = {**ORDER, "tax": "provider"}
    for most in (999, 1300):
        cleaned = Payment().clean(asked(order, amount=most))
        assert (cleaned["amount"], cleaned["order"]["tax"]) == (most, "provider")
        assert Payment().clean(cleaned) == cleaned
        shown = Payment().describe(cleaned, None)["order"]
        assert (shown["subtotal"], shown["tax"], shown["tax_later"]) == (999, 0, True)
    given = Payment().describe(Payment().clean(asked()), None)["order"]
    assert (given["subtotal"], given["tax"], given["tax_later"]) == (999, 190, False)


def test_t243_a_maximum_below_the_lines_is_refused_with_both() -> None:
    [(where, what)] = refused(asked({**ORDER, "tax": "provider"}, amount=998))
    assert (where, "999" in what, "998" in what) == (["params", "amount"], True, True)
    free = {"lines": [{"name": "A sticker", "unit_amount": 0}], "tax": "provider"}
    assert [where for where, _ in refused(asked(free, amount=1))] == [["params", "order"]]


def test_tax_number_and_purpose_may_be_left_out() -> None:
    order = Payment().clean(asked({"lines": LINES}, amount=999))["order"]
    assert (order["tax"], order["number"], order["purpose"]) == (0, None, None)
    assert "order" not in Payment().clean({"amount": 5, "currency": "eur", "description": "x"})


@pytest.mark.parametrize(
    ("changes", "sums"),
    [
        ({"amount": 1188}, "The lines are 999 and the tax is 190, together 1189, and the amount is 1188."),
        ({"amount": 999}, "The lines are 999 and the tax is 190, together 1189, and the amount is 999."),
        ({"amount": 1190}, "The lines are 999 and the tax is 190, together 1189, and the amount is 1190."),
    ],
)
def test_t242_lines_and_tax_that_do_not_come_to_the_amount_are_refused_with_the_sums(changes: Json, sums: str) -> None:
    assert refused(asked(**changes)) == [(["params", "amount"], f"{sums} Correct the amount, a line or the tax.")]


@pytest.mark.parametrize(
    ("order", "where"),
    [
        ([], []), ("x", []), ({}, ["lines"]), ({"lines": []}, ["lines"]), ({"lines": LINES * 26}, ["lines"]),
        ({"lines": ["x"]}, ["lines", 0]), ({**ORDER, "colour": "red"}, ["colour"]),
        ({**ORDER, "tax": -1}, ["tax"]), ({**ORDER, "tax": 1.9}, ["tax"]), ({**ORDER, "tax": True}, ["tax"]),
        ({**ORDER, "tax": "stripe"}, ["tax"]),
        ({**ORDER, "invoice": "yes"}, ["invoice"]),
        ({**ORDER, "tax": "provider", "invoice": True}, ["invoice"]),
        ({**ORDER, "number": ""}, ["number"]), ({**ORDER, "number": 17}, ["number"]),
        ({**ORDER, "purpose": "x" * 251}, ["purpose"]),
        ({"lines": [{**LINES[0], "name": "\u200b"}]}, ["lines", 0, "name"]),
        ({"lines": [{**LINES[0], "name": "x" * 121}]}, ["lines", 0, "name"]),
        ({"lines": [LINES[1], {**LINES[0], "quantity": 0}]}, ["lines", 1, "quantity"]),
        ({"lines": [{**LINES[0], "quantity": 0.5}]}, ["lines", 0, "quantity"]),
        ({"lines": [{**LINES[0], "unit_amount": -450}]}, ["lines", 0, "unit_amount"]),
        ({"lines": [{**LINES[0], "unit_amount": "450"}]}, ["lines", 0, "unit_amount"]),
        ({"lines": [{"name": "A pen"}]}, ["lines", 0, "unit_amount"]),
        ({"lines": [{**LINES[0], "tax": 1}]}, ["lines", 0, "tax"]),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_order_is_refused_where_it_is_wrong(order: Any, where: list[object]) -> None:
    ((loc, message),) = refused(asked(order))
    assert loc == ["params", "order", *where]
    assert message.endswith(".")


@pytest.mark.parametrize("mode", ["subscribe", "save", "mandate"])
def test_only_what_is_paid_once_has_an_order(mode: str) -> None:
    assert ["params", "order"] in [loc for loc, _ in refused(asked(mode=mode))]


def test_t246_names_are_one_line_of_visible_characters() -> None:
    order = {**ORDER, "lines": [{**LINES[0], "name": "A\u202enote\n\tbook\u200b "}, LINES[1]], "number": " PO\n17 "}
    cleaned = Payment().clean(asked(order))["order"]
    assert (cleaned["lines"][0]["name"], cleaned["number"]) == ("Anote book", "PO 17")
