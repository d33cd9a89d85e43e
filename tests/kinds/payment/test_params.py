"""Which payments an agent may ask for, and the errors for all others."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from elicit_flows.domain import errors
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment.kind import Payment

LEAST: Json = {"amount": 500, "currency": "usd", "description": "The report"}
WHOLE: Json = LEAST | {
    "account": None, "mode": "pay", "interval": None, "item": None, "uses": None,
}  # fmt: skip


def clean(**changes: Any) -> Json:
    return Payment().clean(LEAST | changes)


def refused(given: Json) -> list[list[str]]:
    with pytest.raises(errors.Invalid) as caught:
        Payment().clean(given)
    assert all(str(error["message"]).endswith(".") for error in caught.value.errors)
    return [error["loc"] for error in caught.value.errors]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        (LEAST, WHOLE),
        (WHOLE, WHOLE),
        (LEAST | {"amount": 1, "mode": "pay"}, WHOLE | {"amount": 1}),
        (LEAST | {"amount": 99_999_999}, WHOLE | {"amount": 99_999_999}),
        (LEAST | {"amount": 29, "currency": "eur"}, WHOLE | {"amount": 29, "currency": "eur"}),
        (LEAST | {"currency": "jpy"}, WHOLE | {"currency": "jpy"}),
        (LEAST | {"account": "main-1", "mode": None}, WHOLE | {"account": "main-1"}),
        (LEAST | {"item": "report/2026", "uses": 3}, WHOLE | {"item": "report/2026", "uses": 3}),
        (
            LEAST | {"mode": "subscribe", "interval": "month", "item": "pro"},
            WHOLE | {"mode": "subscribe", "interval": "month", "item": "pro"},
        ),
        ({"currency": "eur", "description": "x", "mode": "save"},
         WHOLE | {"currency": "eur", "description": "x", "mode": "save", "amount": 0}),
        (LEAST | {"amount": 0, "mode": "save"}, WHOLE | {"amount": 0, "mode": "save"}),
        (LEAST | {"description": " a\u202e \n b\x00 "}, WHOLE | {"description": "a b"}),
        (LEAST | {"description": "ü" * 250}, WHOLE | {"description": "ü" * 250}),
    ],
)  # fmt: skip
def test_good_parameters_become_complete_and_stay_so(given: Json, cleaned: Json) -> None:
    before = copy.deepcopy(given)
    assert Payment().clean(given) == cleaned
    assert Payment().clean(cleaned) == cleaned
    assert given == before
    assert json.loads(json.dumps(cleaned)) == cleaned


@pytest.mark.parametrize(
    "amount", [0, -1, 100_000_000, 10**30, 5.0, 0.29, 19.99, float("nan"), "500", "5", True, False, None, [5], {}]
)
def test_an_amount_is_a_whole_number_of_minor_units(amount: Any) -> None:
    assert refused(LEAST | {"amount": amount}) == [["params", "amount"]]


@pytest.mark.parametrize("amount", [1, -1, 0.0, False, "0"])
def test_saving_a_card_takes_no_amount(amount: Any) -> None:
    assert refused(LEAST | {"mode": "save", "amount": amount}) == [["params", "amount"]]


@pytest.mark.parametrize("currency", ["kwd", "isk", "ugx", "btc", "USD", "us", "", " usd", None, 7, ["usd"], {}])
def test_a_currency_that_is_not_listed_is_refused(currency: Any) -> None:
    assert refused(LEAST | {"currency": currency}) == [["params", "currency"]]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"description": ""}, "description"),
        ({"description": "\u200b \u202e"}, "description"),
        ({"description": None}, "description"),
        ({"description": 5}, "description"),
        ({"description": "x" * 251}, "description"),
        ({"account": ""}, "account"),
        ({"account": "a b"}, "account"),
        ({"account": "a\n"}, "account"),
        ({"account": 7}, "account"),
        ({"mode": "payment"}, "mode"),
        ({"mode": ""}, "mode"),
        ({"mode": ["pay"]}, "mode"),
        ({"interval": "month"}, "interval"),
        ({"interval": "", "mode": "pay"}, "interval"),
        ({"mode": "subscribe"}, "interval"),
        ({"trial_days": 14}, "trial_days"),
        *(
            ({"mode": "subscribe", "interval": "month", "trial_days": days}, "trial_days")
            for days in (0, -1, 731, 1.5, "14", True)
        ),
        ({"mode": "subscribe", "interval": "quarter"}, "interval"),
        ({"mode": "subscribe", "interval": ["month"]}, "interval"),
        ({"mode": "subscribe", "interval": "month", "amount": 0}, "amount"),
        ({"item": ""}, "item"),
        ({"item": "x" * 201}, "item"),
        ({"item": " report"}, "item"),
        ({"item": "a\nb"}, "item"),
        ({"item": "a\u200bb"}, "item"),
        ({"item": 7}, "item"),
        ({"item": "x", "uses": 0}, "uses"),
        ({"item": "x", "uses": -1}, "uses"),
        ({"item": "x", "uses": True}, "uses"),
        ({"item": "x", "uses": 1.0}, "uses"),
        ({"item": "x", "uses": 1_000_001}, "uses"),
        ({"uses": 1}, "uses"),
        ({"price": 500}, "price"),
        ({"status": "paid"}, "status"),
    ],
)
def test_each_wrong_parameter_is_named(changes: Json, place: str) -> None:
    assert refused(LEAST | changes) == [["params", place]]


CHANGE: Json = {"mode": "subscribe", "changes": "su_1", "amount": 700, "currency": "eur"}


def test_a_change_of_a_price_keeps_the_rest() -> None:
    asked = Payment().clean(CHANGE)
    assert (asked["changes"], asked["amount"], asked["description"], asked["interval"]) == ("su_1", 700, None, None)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"description": "Ten seats"}, "description"),
        ({"interval": "month"}, "interval"),
        ({"trial_days": 14}, "trial_days"),
        ({"item": "news"}, "item"),
        ({"mode": "pay"}, "changes"),
        ({"changes": ""}, "changes"),
        ({"changes": 7}, "changes"),
        ({"changes": "x" * 65}, "changes"),
        ({"amount": 0}, "amount"),
        ({"account": "?"}, "account"),
        ({"order": {"lines": []}}, "order"),
        ({"mandate": {}}, "mandate"),
    ],
)
def test_t235_a_change_takes_nothing_but_the_new_price(more: Json, place: str) -> None:
    assert refused(CHANGE | more) == [["params", place]]


@pytest.mark.parametrize(
    "until", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "2090-01-01T00:00:00Z", "2027-01-31", 5]
)
def test_a_mandate_ends_at_a_time_that_it_may_have(until: object) -> None:
    limits = {"per_charge": 500, "total": 900, "until": until}
    asked = {"mode": "mandate", "currency": "eur", "description": "Tickets", "mandate": limits}
    assert refused(asked) == [["params", "mandate", "until"]]


def test_every_error_is_told_at_once() -> None:
    places = [place[1] for place in refused({"x": 1, "mode": "gift", "account": "?", "uses": 0, "item": ""})]
    assert places == ["x", "amount", "currency", "description", "account", "mode", "item", "uses"]


def test_a_float_that_looks_whole_is_told_what_to_send_instead() -> None:
    with pytest.raises(errors.Invalid) as caught:
        clean(amount=5.0)
    assert "minor units" in str(caught.value.errors[0]["message"])
