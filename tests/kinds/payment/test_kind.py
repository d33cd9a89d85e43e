"""The context that the connect page gets about a payment."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.kind import Payment, following
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock

ACCOUNT = Account("main", "stripe", Secret("sk_test_canary"), (Secret("whsec_canary"),))
ASKED = Payment().clean({"amount": 1999, "currency": "eur", "description": "The report", "item": "report", "uses": 3})


def test_the_person_is_told_what_is_paid_and_where() -> None:
    assert Payment().describe(ASKED, ACCOUNT) == {
        "title": "The report",
        "host": "checkout.stripe.com",
        "host_warning": "",
        "livemode": False,
        "next_charge": None,
        "trial": False,
        "amount": 1999,
        "currency": "eur",
        "description": "The report",
        "mode": "pay",
        "interval": None,
        "item": "report",
        "uses": 3,
        "mandate": None,
        "order": None,
    }


@pytest.mark.parametrize(
    ("today", "interval", "then"),
    [
        (date(2026, 11, 22), "day", date(2026, 11, 23)), (date(2026, 12, 31), "week", date(2027, 1, 7)),
        (date(2026, 11, 22), "month", date(2026, 12, 22)), (date(2026, 12, 5), "month", date(2027, 1, 5)),
        (date(2027, 1, 31), "month", date(2027, 2, 28)), (date(2028, 2, 29), "year", date(2029, 2, 28)),
    ],
    ids=str,
)  # fmt: skip
def test_a_subscription_is_charged_next_when_its_first_period_is_over(today: date, interval: str, then: date) -> None:
    assert following(today, interval) == then


def test_the_person_is_told_when_a_subscription_is_charged_next() -> None:
    asked = Payment().clean({**ASKED, "mode": "subscribe", "interval": "month"})
    next_charge = Payment().describe(asked, ACCOUNT)["next_charge"]
    assert 28 <= (next_charge - clock.now().date()).days <= 31


def test_the_person_is_told_until_when_a_trial_is_free() -> None:
    asked = Payment().clean({**ASKED, "mode": "subscribe", "interval": "year", "trial_days": 14})
    shown = Payment().describe(asked, ACCOUNT)
    assert (shown["next_charge"], shown["trial"]) == (clock.now().date() + timedelta(days=14), True)


def test_real_money_is_said_to_be_real() -> None:
    assert Payment().describe(ASKED, replace(ACCOUNT, livemode=True))["livemode"] is True


def test_an_account_with_an_address_of_its_own_pays_there() -> None:
    assert Payment().describe(ASKED, replace(ACCOUNT, api_base="http://127.0.0.1:8001"))["host"] == "127.0.0.1"


def test_no_host_is_named_for_an_account_that_is_switched_off() -> None:
    said = Payment().describe(ASKED, None)
    assert (said["title"], said["host"], said["host_warning"]) == ("The report", "", "")


def test_no_secret_of_the_account_is_shown() -> None:
    assert "canary" not in json.dumps(Payment().describe(ASKED, ACCOUNT))
