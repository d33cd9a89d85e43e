"""Another price of a running subscription: what its person agreed to, and what the provider says of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from elicit_flows import elicitations
from elicit_flows.domain.errors import Invalid, OverLimit
from elicit_flows.domain.values import Claim, Question
from elicit_flows.elicitations import price_change
from elicit_flows.jobs import lag
from elicit_flows.kinds.payment.values import Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Event, Payment, PriceChange, SpendLimit, Subscription
from elicit_flows.payments import price_changes
from tests.settlement.conftest import Till
from tests.settlement.test_subscription_life import Life, on_trial
from tests.support import rows
from tests.support.moving import MovingClock


@pytest.fixture
def life(till: Till) -> Life:
    return Life(till)


def ask(life: Life, amount: int = 700, claim: Claim = rows.ALICE_CLAIM, **more: Any) -> Elicitation:
    wanted = {"mode": "subscribe", "changes": life.now.pk, "amount": amount, "currency": "eur", **more}
    row, _ = elicitations.create(life.till.known.row, Question("payment", claim, "It costs more.", wanted))
    return row


def press(row: Elicitation) -> PriceChange:
    """The yes, before the provider is told."""
    with transaction.atomic():
        return price_changes.agree(row)


def test_whoever_presses_again_while_the_provider_is_told_does_not_tell_it_too(life: Life) -> None:
    row = ask(life)
    assert price_changes.claim(press(row))
    assert not price_changes.claim(press(row))


def test_a_price_that_nobody_tells_the_provider_is_seen_as_late(life: Life) -> None:
    Checkout.objects.update(look_at=None)
    assert lag.oldest()["payment"] is None
    change = press(ask(life))
    assert change.try_at is not None
    assert lag.oldest()["payment"] == change.try_at


def says(life: Life, price: int | None, *, state: State = State.ACTIVE, **more: Any) -> Snapshot:
    """What the provider answers when it is asked now."""
    given: dict[str, Any] = {**life.says(1), "interval": "month", "asked_at": clock.now(), **more}
    return life.till.says(life.checkout, state, price=price, **given)


def look(life: Life, price: int | None, **more: Any) -> None:
    said = says(life, price, **more)
    elicitations.payment.record_settlement(life.checkout, said)


def make(life: Life, change: PriceChange, price: int, **more: Any) -> None:
    """The provider's answer to the call."""
    assert price_changes.claim(change)
    price_change._record(change, life.checkout, says(life, price, **more))


def changed(life: Life, amount: int = 700) -> Elicitation:
    row = ask(life, amount)
    make(life, press(row), amount)
    return row


def test_a_question_changes_nothing_and_creates_no_payment(life: Life) -> None:
    row = ask(life)
    assert (row.params["previous_amount"], row.params["description"], row.params["item"]) == (500, "A report", "news")
    assert life.now.amount == 500
    assert Payment.objects.count() == 1
    assert PriceChange.objects.get().agreed_at is None


@pytest.mark.parametrize("end", ["decline", "cancel"])
def test_t235_no_price_changes_without_a_yes(life: Life, end: str) -> None:
    row = ask(life)
    if end == "decline":
        elicitations.decline(row.pk, row.claim)
    else:
        elicitations.cancel(row)
    assert not list(price_changes.due(life.till.account.pk, 10))
    assert (life.now.amount, PriceChange.objects.get().try_at) == (500, None)
    look(life, 700)
    assert (life.now.amount, life.told()) == (500, ["payment.mismatch"])


@pytest.mark.parametrize("price", [700, 400, 1])
@pytest.mark.parametrize("interval", ["month", "week", "3 month"])
def test_t235_a_price_or_period_that_nobody_agreed_to_is_told_once(life: Life, price: int, interval: str) -> None:
    look(life, 500)
    for _ in range(3):
        look(life, price, interval=interval)
    assert life.told() == ["payment.mismatch"]
    told = Event.objects.get(type="payment.mismatch").data["problem"]
    assert told["code"] == "price"
    assert f"{price} eur for each {interval}" in told["message"]
    assert life.now.amount == 500
    look(life, 500)
    look(life, price, interval=interval)
    assert life.told() == ["payment.mismatch"] * 2, "it was as agreed in between"


def test_t235_the_same_price_for_a_shorter_period_is_another_price(life: Life) -> None:
    look(life, 500, interval="day")
    assert life.told() == ["payment.mismatch"]


def test_t235_a_price_from_before_the_yes_counts_no_more_and_no_less(life: Life) -> None:
    """A look that was asked before the change, and applied after it."""
    early = says(life, 500, asked_at=clock.now() - timedelta(seconds=5))
    changed(life)
    elicitations.payment.record_settlement(life.checkout, early)
    assert (life.now.amount, life.told()) == (700, ["subscription.price_changed"])
    look(life, 500)
    assert life.told() == ["subscription.price_changed", "payment.mismatch"], "somebody has set it back"


def test_a_change_is_recorded_once_with_its_result_and_event(life: Life) -> None:
    row = ask(life)
    change = press(row)
    assert press(row).agreed_at == change.agreed_at, "pressed twice"
    with transaction.atomic():
        price_change.move(row, price_change.Status.STARTED)
        price_change.move(row, price_change.Status.SETTLING)
    for _ in range(3):
        price_change._record(change, life.checkout, says(life, 700))
    row.refresh_from_db()
    assert (row.status, life.now.amount) == ("completed", 700)
    assert row.result is not None
    assert (row.result["amount"], row.result["price"], row.result["previous_price"]) == (0, 700, 500)
    assert row.result["price_from"] == clock.rfc3339(life.end_of(1))
    assert life.told() == ["subscription.price_changed"]
    assert Event.objects.get(type="subscription.price_changed").data["change"] == PriceChange.objects.get().summary()
    assert life.granted.valid_until == life.end_of(1)
    assert not list(price_changes.due(life.till.account.pk, 10))


def test_only_one_worker_tells_the_provider_and_another_if_it_dies(life: Life, moving_clock: MovingClock) -> None:
    press(ask(life))
    [first], [second] = (list(price_changes.due(life.till.account.pk, 10)) for _ in range(2))
    assert (price_changes.claim(first), price_changes.claim(second)) == (True, False)
    assert not list(price_changes.due(life.till.account.pk, 10))
    moving_clock.forward(minutes=10)
    [again] = price_changes.due(life.till.account.pk, 10)
    assert price_changes.claim(again)
    price_changes.later(first, "too late")
    assert PriceChange.objects.get().problem == "", "it has lost its lease"


def test_while_a_change_is_made_both_prices_are_as_agreed(life: Life) -> None:
    press(ask(life))
    for price in (500, 700, 500, 700):
        look(life, price)
    life.hear(State.ACTIVE, 2, life.invoice(2, amount=700))
    assert life.told() == ["subscription.renewed"]


@pytest.mark.parametrize(("was_first", "now"), [(700, 400), (400, 700)])
def test_t240_each_renewal_is_held_against_the_price_of_its_time(
    life: Life, moving_clock: MovingClock, was_first: int, now: int
) -> None:
    """Renewals that were charged before a change, and are found after it."""
    changed(life, was_first)
    moving_clock.forward(days=40)
    changed(life, now)
    moving_clock.forward(days=30)
    second, third = life.invoice(2, amount=was_first), life.invoice(3, amount=now)
    life.hear(State.ACTIVE, 1, second, third)
    assert life.told().count("payment.mismatch") == 0
    life.hear(State.ACTIVE, 1, life.invoice(4, amount=now + 1))
    assert life.told()[-1] == "payment.mismatch"
    assert f"agreed was {now} eur" in Payment.objects.get().problem


def test_a_price_that_changed_since_the_question_is_asked_for_anew(life: Life) -> None:
    first, second = ask(life, 700), ask(life, 900)
    make(life, press(first), 700)
    change = press(second)
    assert change.agreed_at is None
    assert "changed meanwhile" in change.problem
    assert life.now.amount == 700


def test_a_second_yes_waits_until_the_first_is_made(life: Life) -> None:
    first, second = ask(life, 700), ask(life, 900)
    press(first)
    assert "under way" in press(second).problem
    with pytest.raises(Invalid, match="under way"):
        ask(life, 800)


@pytest.mark.parametrize("ends", [{"state": State.CANCELLED}, {"price": 500}])
def test_what_the_provider_does_not_change_is_no_success(life: Life, ends: dict[str, Any]) -> None:
    row = ask(life)
    change = press(row)
    with transaction.atomic():
        price_change.move(row, price_change.Status.STARTED)
        price_change.move(row, price_change.Status.SETTLING)
    make(life, change, **{"price": 700, **ends})
    row.refresh_from_db()
    assert (row.status, row.error and row.error["code"], life.now.amount) == ("failed", "price_not_changed", 500)
    assert not list(price_changes.due(life.till.account.pk, 10))
    assert "subscription.price_changed" not in life.told()


def test_an_item_is_paid_for_at_the_price_that_was_agreed_to_last(life: Life) -> None:
    changed(life)
    for amount, reused in ((500, False), (700, True)):
        row = life.till.ask(mode="subscribe", interval="month", item="news", amount=amount)
        assert row.reused is reused, amount


def test_the_limits_of_an_agent_hold_for_a_new_price(life: Life) -> None:
    SpendLimit.objects.create(agent=life.till.known.row, currency="eur", per_payment=600)
    with pytest.raises(OverLimit):
        ask(life, 700)
    ask(life, 600)


def test_t238_neither_another_agent_nor_another_person_is_asked(life: Life) -> None:
    other = rows.agent("other-bot")
    other.row.payment_accounts.add(life.till.account)
    wanted = {"mode": "subscribe", "changes": life.now.pk, "amount": 700, "currency": "eur"}
    for agent, claim in ((other.row, rows.ALICE_CLAIM), (life.till.known.row, Claim(rows.ISSUER, "bob"))):
        with pytest.raises(Invalid, match="no such subscription"):
            elicitations.create(agent, Question("payment", claim, "It costs more.", wanted))
    assert not PriceChange.objects.exists()


def test_one_on_trial_costs_the_new_price_after_it(till: Till) -> None:
    _, checkout, ends = on_trial(till)
    wanted = {"mode": "subscribe", "changes": Subscription.objects.get().pk, "amount": 700, "currency": "eur"}
    row, _ = elicitations.create(till.known.row, Question("payment", rows.ALICE_CLAIM, "It costs more.", wanted))
    assert price_change.shown(row) == {"previous_amount": 500, "starts": ends}
    change = press(row)
    assert price_changes.claim(change)
    said = {"payment_ref": "sub_1", "amount": 0, "period_end": ends, "price": 700, "interval": "month"}
    price_change._record(change, checkout, till.says(checkout, State.ACTIVE, asked_at=clock.now(), **said))
    assert Subscription.objects.get().amount == 700
    assert "payment.mismatch" not in till.told(Elicitation.objects.get(payment__isnull=False))
