"""Who paid for one thing has not paid for another: what answers a payment question, and what it is worth."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from elicit_flows import elicitations
from elicit_flows.domain.errors import Conflict, Invalid
from elicit_flows.domain.values import Question
from elicit_flows.elicitations import agent_access
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Entitlement, Payment, PaymentAccount
from elicit_flows.payments import entitlements
from elicit_flows.payments.settlement import OF_MODE
from tests.settlement.conftest import Till
from tests.support import money
from tests.support.rows import ALICE_CLAIM, Known

LINES = [{"name": "A notebook", "quantity": 2, "unit_amount": 250}]
SUBSCRIBED = {"mode": "subscribe", "interval": "month"}


def account(till: Till, slug: str, *, livemode: bool = False) -> PaymentAccount:
    row = money.account(slug, livemode=livemode, allow_save=True)
    till.known.row.payment_accounts.add(row)
    agent_access.forget()
    return row


def ask(till: Till, **params: Any) -> Elicitation:
    return till.ask(**{"account": "main", "item": "pro", **params})


def pay(till: Till, row: Elicitation) -> Payment:
    """As it was asked."""
    payment = Payment.objects.get(elicitation=row)
    given = {"amount": payment.amount, "currency": payment.currency, "livemode": payment.account.livemode}
    more = {"payment_ref": f"sub_{row.pk}", "period_end": clock.now() + timedelta(days=30)}
    till.hear(till.open(row), OF_MODE[payment.mode], **given, **(more if payment.mode == "subscribe" else {}))
    payment.refresh_from_db()
    return payment


def moved(till: Till, *accounts: PaymentAccount) -> None:
    """The operator gives the agent these accounts in place of those that it had."""
    till.known.row.payment_accounts.set(accounts)
    agent_access.forget()


@pytest.mark.parametrize(
    ("paid", "asked"),
    [
        ({}, {"amount": 99_900}),
        ({}, {"amount": 499}),
        ({}, {"currency": "usd"}),
        ({"amount": 500, "currency": "jpy"}, {}),
        ({}, SUBSCRIBED),
        ({"mode": "save", "amount": 0}, {}),
        ({"mode": "save", "amount": 0}, SUBSCRIBED),
        ({}, {"mode": "save", "amount": 0}),
        (SUBSCRIBED, {}),
        (SUBSCRIBED, {**SUBSCRIBED, "interval": "year"}),
        ({"uses": 1}, {"uses": 100}),
        ({"uses": 1}, {}),
        ({}, {"item": "gold"}),
        ({}, {"account": "other"}),
    ],
    ids=str,
)
def test_t121_what_was_paid_answers_nothing_else_that_is_asked(
    till: Till, paid: dict[str, Any], asked: dict[str, Any]
) -> None:
    account(till, "other")
    pay(till, ask(till, **paid))
    assert ask(till, **paid).reused, "the same is answered"
    other = ask(till, **asked)
    assert (other.status, other.reused) == ("pending", False)


@pytest.mark.parametrize("live", [True, False], ids=["a test, then live", "live, then a test"])
def test_t121_a_test_is_no_answer_to_a_question_for_real_money_nor_the_reverse(till: Till, *, live: bool) -> None:
    account(till, "live", livemode=True)
    first, second = ("main", "live") if live else ("live", "main")
    assert not pay(till, ask(till, account=first)).problem
    row = ask(till, account=second)
    assert (row.status, row.reused) == ("pending", False)


@pytest.mark.parametrize(
    "other",
    [None, {"lines": LINES, "number": "PO-18"}, {"lines": [{"name": "A pen", "unit_amount": 500}], "number": "PO-17"}],
    ids=str,
)
def test_t245_a_yes_to_one_order_answers_no_other(till: Till, other: dict[str, Any] | None) -> None:
    order = {"lines": LINES, "number": "PO-17"}
    assert not pay(till, ask(till, order=order)).problem
    again = ask(till, order=order)
    assert again.result is not None
    assert (again.reused, again.result["order_number"]) == (True, "PO-17")
    row = ask(till, **({"order": other} if other else {}))
    assert (row.status, row.reused) == ("pending", False)


def test_t121_steps_are_answered_by_the_same_alone_too(till: Till) -> None:
    pay(till, ask(till))
    steps = [
        {"kind": "payment", "params": {"amount": amount, "currency": "eur", "description": "A report", "item": "pro"}}
        for amount in (500, 600)
    ]
    row, _ = elicitations.create(till.known.row, Question("steps", ALICE_CLAIM, "Pay, please.", {"steps": steps}))
    assert [(one.status, one.reused) for one in row.steps.order_by("place")] == [
        ("completed", True), ("pending", False),
    ]  # fmt: skip


def test_t121_what_was_paid_in_a_test_is_worth_nothing_once_its_agent_takes_real_money(till: Till) -> None:
    """The API refuses it too, also for a use that was counted before."""
    entitlement = pay(till, ask(till, uses=5)).entitlement
    entitlements.consume(entitlement, "first")
    moved(till, account(till, "live", livemode=True))
    row = Entitlement.objects.get()
    said = row.summary(live_only=entitlements.live_only(till.known.row))
    assert (said["livemode"], said["usable"], said["status"]) == (False, False, "active")
    for key in ("first", "second"):
        with pytest.raises(Conflict, match="test"):
            entitlements.consume(row, key)
    assert Entitlement.objects.get().uses_left == 4
    moved(till, till.account)
    entitlements.consume(row, "second")
    assert Entitlement.objects.get().uses_left == 3


def test_what_was_paid_with_real_money_stays_paid_whatever_the_agent_takes_now(till: Till) -> None:
    account(till, "live", livemode=True)
    entitlement = pay(till, ask(till, account="live")).entitlement
    moved(till, till.account)
    row = Entitlement.objects.get()
    said = row.summary(live_only=entitlements.live_only(till.known.row))
    assert (said["livemode"], said["usable"]) == (True, True)
    entitlements.consume(entitlement, "a")


def test_the_result_and_the_payment_say_whether_money_was_real(till: Till) -> None:
    account(till, "live", livemode=True)
    for slug, live in (("main", False), ("live", True)):
        row = ask(till, account=slug)
        payment = pay(till, row)
        row.refresh_from_db()
        assert (row.result["livemode"], payment.summary()["livemode"]) == (live, live)  # type: ignore[index]


def test_t121_nothing_is_saved_where_the_operator_has_not_allowed_it(till: Till) -> None:
    PaymentAccount.objects.update(allow_save=False)
    agent_access.forget()
    with pytest.raises(Invalid, match="Nothing in this service can charge") as refused:
        ask(till, mode="save", amount=0)
    assert refused.value.errors[0]["loc"] == ["params", "mode"]
    assert not Payment.objects.exists()


@dataclass(frozen=True)
class Terms:
    """What is asked, but for whom."""

    account: str
    mode: str
    interval: str | None
    amount: int
    currency: str
    item: str
    uses: int | None

    @classmethod
    def drawn(cls, dice: Random) -> Terms:
        mode = dice.choice(["pay", "pay", "save", "subscribe"])
        return cls(
            account=dice.choice(["main", "main", "other", "live"]),
            mode=mode,
            interval=dice.choice(["month", "year"]) if mode == "subscribe" else None,
            amount=0 if mode == "save" else dice.choice([500, 99_900]),
            currency=dice.choice(["eur", "usd"]),
            item=dice.choice(["pro", "gold"]),
            uses=dice.choice([None, None, 2]),
        )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_t121_in_a_random_history_every_answer_was_paid_for_on_its_own_terms(till: Till, seed: int) -> None:
    """The test keeps its own record of payments, and compares each question that was answered without asking."""
    dice, reused = Random(f"matching/{seed}"), 0
    accounts = {slug: account(till, slug, livemode=slug == "live") for slug in ("other", "live")} | {
        "main": till.account
    }
    paid: dict[str, Terms] = {}
    for _ in range(60):
        moved(till, *dice.sample(list(accounts.values()), dice.choice([1, 2, 3])))
        again = paid and dice.random() < 0.3
        terms = dice.choice(list(paid.values())) if again else Terms.drawn(dice)
        if terms.account not in till.known.row.payment_accounts.values_list("slug", flat=True):
            continue
        row = till.ask(**vars(terms))
        if row.reused:
            reused += 1
            answer = Payment.objects.get(pk=row.result["payment"])  # type: ignore[index]
            assert paid[answer.pk] == terms
            assert row.result["livemode"] == accounts[terms.account].livemode  # type: ignore[index]
        elif dice.random() < 0.7:
            paid[pay(till, row).pk] = terms
        _use_something(till.known, paid, accounts, dice)
    assert reused > 1
    for entitlement in Entitlement.objects.select_related("payment__account"):
        kept, terms = entitlement.payment, paid[entitlement.payment_id]
        asked = (kept.account.slug, kept.mode, kept.interval or None, kept.amount, kept.currency, kept.item, kept.uses)
        assert asked == tuple(vars(terms).values())


def _use_something(agent: Known, paid: dict[str, Terms], accounts: dict[str, PaymentAccount], dice: Random) -> None:
    """Whatever is used is worth something: never what was paid in a test, once real money is taken."""
    found = list(Entitlement.objects.order_by("pk"))
    if not found:
        return
    chosen = dice.choice(found)
    try:
        entitlements.consume(chosen, f"key {dice.random()}")
    except Conflict:
        return
    takes_real_money = agent.row.payment_accounts.filter(livemode=True).exists()
    assert accounts[paid[chosen.payment_id].account].livemode or not takes_real_money


def test_every_dimension_of_what_is_asked_is_one_that_is_matched(till: Till) -> None:
    """Each parameter of a payment is either compared, or listed here with the reason."""
    known = set(ask(till).params)
    matched = {"account", "mode", "interval", "amount", "currency", "item", "uses"}
    assert known - matched == {"description"}, "words for the person: they decide nothing"


def test_an_answer_to_one_question_is_found_among_many_others(till: Till) -> None:
    for amount, currency in itertools.product((100, 200, 500), ("eur", "usd")):
        pay(till, ask(till, amount=amount, currency=currency))
    row = ask(till, amount=200, currency="usd")
    assert (row.reused, (row.result or {})["amount"], (row.result or {})["currency"]) == (True, 200, "usd")
    assert (row.result or {})["status"] == "paid"
