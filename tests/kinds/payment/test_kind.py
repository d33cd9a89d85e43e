"""What the connect page is told about a payment."""

from __future__ import annotations

import json
from dataclasses import replace

from elicit_flows.kinds.payment.kind import Payment
from elicit_flows.kinds.payment.values import Account
from elicit_flows.values import Secret

ACCOUNT = Account("main", "stripe", Secret("sk_test_canary"), (Secret("whsec_canary"),))
ASKED = Payment().clean({"amount": 1999, "currency": "eur", "description": "The report", "item": "report", "uses": 3})


def test_the_person_is_told_what_is_paid_and_where() -> None:
    assert Payment().describe(ASKED, ACCOUNT) == {
        "title": "The report",
        "host": "checkout.stripe.com",
        "host_warning": "",
        "livemode": False,
        "amount": 1999,
        "currency": "eur",
        "description": "The report",
        "mode": "pay",
        "interval": None,
        "item": "report",
        "uses": 3,
    }


def test_real_money_is_said_to_be_real() -> None:
    assert Payment().describe(ASKED, replace(ACCOUNT, livemode=True))["livemode"] is True


def test_an_account_with_an_address_of_its_own_pays_there() -> None:
    assert Payment().describe(ASKED, replace(ACCOUNT, api_base="http://127.0.0.1:8001"))["host"] == "127.0.0.1"


def test_no_host_is_named_for_an_account_that_is_switched_off() -> None:
    said = Payment().describe(ASKED, None)
    assert (said["title"], said["host"], said["host_warning"]) == ("The report", "", "")


def test_no_secret_of_the_account_is_shown() -> None:
    assert "canary" not in json.dumps(Payment().describe(ASKED, ACCOUNT))
