"""H1: an entitlement was looked up by agent, person and item alone, whatever was paid for it and how."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from elicit_flows.flow import permits
from elicit_flows.values import Question

from elicit_flows import flow
from elicit_flows.kinds.payment.values import State
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Payment
from tests.ledger import conftest as ledger
from tests.support import money
from tests.support.rows import ALICE_CLAIM

till = ledger.till
SUBSCRIBED = {"mode": "subscribe", "interval": "month"}
STATES = {"pay": State.PAID, "subscribe": State.ACTIVE, "save": State.SAVED}


def account(till: ledger.Till, slug: str, *, livemode: bool = False) -> None:
    till.known.row.payment_accounts.add(money.account(slug, livemode=livemode))
    permits.forget()


def ask(till: ledger.Till, **params: Any) -> Elicitation:
    return till.ask(**{"account": "main", "item": "pro", **params})


def pay(till: ledger.Till, row: Elicitation) -> None:
    """As it was asked."""
    payment = Payment.objects.get(elicitation=row)
    given: dict[str, Any] = {
        "amount": payment.amount, "currency": payment.currency, "livemode": payment.account.livemode,
    }  # fmt: skip
    if payment.mode == "subscribe":
        given |= {"payment_ref": f"sub_{row.pk}", "period_end": clock.now() + timedelta(days=30)}
    till.hear(till.open(row), STATES[payment.mode], **given)
    row.refresh_from_db()
    assert row.status == "completed"


@pytest.mark.parametrize(
    ("paid", "asked"),
    [
        ({}, {"amount": 99_900}),
        ({}, {"currency": "usd"}),
        ({}, SUBSCRIBED),
        ({"mode": "save", "amount": 0}, {}),
        ({"mode": "save", "amount": 0}, SUBSCRIBED),
        ({}, {"account": "other"}),
    ],
    ids=str,
)
def test_t121_what_was_paid_answers_nothing_else_that_is_asked(
    till: ledger.Till, paid: dict[str, Any], asked: dict[str, Any]
) -> None:
    account(till, "other")
    pay(till, ask(till, **paid))
    assert ask(till, **paid).reused, "the same is answered"
    other = ask(till, **asked)
    assert (other.status, other.reused) == ("pending", False)


@pytest.mark.parametrize("live", [True, False], ids=["a test, then live", "live, then a test"])
def test_t121_a_test_is_no_answer_to_a_question_for_real_money_nor_the_reverse(
    till: ledger.Till, *, live: bool
) -> None:
    account(till, "live", livemode=True)
    first, second = ("main", "live") if live else ("live", "main")
    pay(till, ask(till, account=first))
    row = ask(till, account=second)
    assert (row.status, row.reused) == ("pending", False)


def test_t121_steps_are_answered_by_the_same_alone_too(till: ledger.Till) -> None:
    pay(till, ask(till))
    steps = [
        {"kind": "payment", "params": {"amount": amount, "currency": "eur", "description": "A report", "item": "pro"}}
        for amount in (500, 600)
    ]
    row, _ = flow.create(till.known.row, Question("steps", ALICE_CLAIM, "Pay, please.", {"steps": steps}))
    first, second = ((one.status, one.reused) for one in row.steps.order_by("place"))
    assert first == ("completed", True), "the same is answered"
    assert second == ("pending", False)
