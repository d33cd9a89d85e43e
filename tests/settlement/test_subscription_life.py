"""A subscription's renewals and states, whatever order the provider's answers arrive in."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from elicit_flows import elicitations
from elicit_flows.api.owned_rows import own_subscription
from elicit_flows.domain.errors import Conflict, NotFound
from elicit_flows.domain.values import Claim
from elicit_flows.kinds.payment.values import BalanceLine, InvoiceSeen, Movement, RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import (
    Cancellation,
    Checkout,
    Elicitation,
    Entitlement,
    Event,
    Payment,
    PaymentAccount,
    Refund,
    Renewal,
    Subscription,
)
from elicit_flows.payments import cancellations, checkouts, queries
from elicit_flows.payments.bookkeeping import Period, entries, totals
from elicit_flows.payments.reconciliation import Reconciliation
from tests.settlement.conftest import Till
from tests.support import rows
from tests.support.moving import MovingClock

MONTH, DAY = timedelta(days=30), timedelta(days=1)


class Life:
    """A subscription of 5.00 EUR a month, and what its provider may say of it."""

    def __init__(self, till: Till) -> None:
        self.till, self.row = till, till.ask(mode="subscribe", interval="month", item="news")
        self.checkout: Checkout = till.open(self.row)
        self.start: datetime = clock.now().replace(microsecond=0)
        self.hear(State.ACTIVE, 1)

    def end_of(self, month: int) -> datetime:
        return self.start + month * MONTH

    def invoice(self, month: int, state: str = "paid", **more: Any) -> InvoiceSeen:
        """The invoice of that month; the first is the one that the person paid on the provider's page."""
        tries = 0 if state == "open" else 1
        seen = InvoiceSeen(
            f"in_{month}", 500, "eur", state, self.end_of(month - 1), self.end_of(month), month == 1, tries
        )
        return replace(seen, **more)

    def says(self, paid: int, *bills: InvoiceSeen, **more: Any) -> dict[str, Any]:
        """``paid``: how many months."""
        known = (*(self.invoice(month) for month in range(1, paid + 1)), *bills)
        return {"payment_ref": "sub_1", "period_end": self.end_of(paid), "invoices": known, **more}

    def hear(self, state: State, paid: int, *bills: InvoiceSeen, **more: Any) -> None:
        self.till.hear(self.checkout, state, **self.says(paid, *bills, **more))

    @property
    def now(self) -> Subscription:
        return Subscription.objects.get()

    @property
    def granted(self) -> Entitlement:
        return Entitlement.objects.get()

    def told(self) -> list[str]:
        """What its agent was told since it began."""
        return self.till.told(self.row)[4:]


@pytest.fixture
def life(till: Till) -> Life:
    return Life(till)


def on_trial(till: Till, **more: Any) -> tuple[Elicitation, Checkout, datetime]:
    """What the provider says when somebody has begun a trial of 14 days; ``more``: what it says otherwise."""
    row = till.ask(mode="subscribe", interval="month", item="news", trial_days=14)
    checkout, ends = till.open(row), clock.now().replace(microsecond=0) + 14 * DAY
    said: dict[str, Any] = {"payment_ref": "sub_1", "amount": 0, "price": 500, "period_end": ends}
    first = InvoiceSeen("in_1", 0, "eur", "paid", clock.now(), ends, first=True)
    till.hear(checkout, State.ACTIVE, **{**said, "invoices": (first,), **more})
    return row, checkout, ends


def test_a_trial_costs_nothing_and_grants_until_it_ends(till: Till) -> None:
    row, _, ends = on_trial(till)
    assert till.stands(row) == ("completed", "active")
    row.refresh_from_db()
    assert row.result is not None
    assert row.result["amount"] == 0
    began = Subscription.objects.get()
    assert (began.amount, began.trial_ends_at, began.period_end) == (500, ends, ends)
    assert Entitlement.objects.get().valid_until == ends
    with pytest.raises(Conflict, match="nothing was paid"):
        elicitations.receipt(Payment.objects.get())
    now = clock.now()
    assert not Period(now - DAY, now + DAY).charges().exists(), "it is no revenue"


def test_the_first_charge_after_a_trial_is_a_renewal(till: Till) -> None:
    _, checkout, ends = on_trial(till)
    second = InvoiceSeen("in_2", 500, "eur", "paid", ends, ends + MONTH, tries=1)
    till.hear(
        checkout, State.ACTIVE, payment_ref="sub_1", amount=0, price=500, period_end=ends + MONTH, invoices=(second,)
    )
    assert [one.amount for one in Renewal.objects.all()] == [500]
    assert Entitlement.objects.get().valid_until == ends + MONTH
    now = clock.now()
    assert Period(now - DAY, now + DAY).renewals().count() == 1


@pytest.mark.parametrize("otherwise", [{"price": 501}, {"price": None}, {"amount": 500}])
def test_t240_a_trial_of_another_price_than_was_agreed_to_is_no_success(till: Till, otherwise: dict[str, Any]) -> None:
    row, _, _ = on_trial(till, **otherwise)
    assert till.stands(row) == ("failed", "mismatch")
    assert not Subscription.objects.exists()
    assert not Entitlement.objects.exists()
    [asked] = Cancellation.objects.all()
    assert (asked.at_once, asked.try_at is not None) == (True, True), "it is not charged after the trial"


@pytest.mark.parametrize(("price", "said"), [(500, "A second trial has begun (sub_2): it is ended"), (900, "900")])
def test_a_second_trial_of_the_same_request_is_ended_and_the_first_goes_on(till: Till, price: int, said: str) -> None:
    row, first, ends = on_trial(till)
    second = Checkout.objects.create(
        payment=first.payment, account=first.account, status="over", ref="cs_9", expires_at=ends
    )
    for _ in range(2):
        till.hear(second, State.ACTIVE, payment_ref="sub_2", amount=0, price=price, period_end=ends)
    paid = Payment.objects.get()
    assert (paid.status, paid.payment_ref) == ("active", "sub_1")
    assert said in paid.problem
    assert not Refund.objects.exists()
    assert not Cancellation.objects.exists(), "that would end the first as well"
    [due] = checkouts.due(till.account.pk, 10)
    assert (due.pk, due.surplus) == (second.pk, True)
    assert till.told(row).count("payment.mismatch") == 1
    till.hear(second, State.CANCELLED, payment_ref="sub_2", amount=0, price=price, period_end=clock.now())
    assert not list(checkouts.due(till.account.pk, 10)), "it is ended"
    assert (Payment.objects.get().status, Entitlement.objects.get().valid_until) == ("active", ends)
    assert "payment.ended" not in till.told(row)


def test_a_trial_that_was_begun_too_late_is_ended(till: Till) -> None:
    row = till.ask(mode="subscribe", interval="month", item="news", trial_days=14)
    checkout = till.open(row)
    elicitations.cancel(row)
    ends = clock.now() + 14 * DAY
    till.hear(checkout, State.ACTIVE, payment_ref="sub_1", amount=0, price=500, period_end=ends)
    [asked] = Cancellation.objects.all()
    assert (asked.at_once, asked.by) == (True, "policy")
    assert not Refund.objects.exists(), "nothing was paid"
    assert Entitlement.objects.get().status == "revoked"
    assert "ended within its trial" in Payment.objects.get().problem


def test_it_begins_with_the_payment_and_the_result_names_it(life: Life) -> None:
    row = life.now
    assert (row.status, row.amount, row.ref, row.period_end) == ("active", 500, "sub_1", life.end_of(1))
    assert Elicitation.objects.get().result["subscription"] == row.pk  # type: ignore[index]
    assert row.payment_id == Payment.objects.get().pk
    assert not Renewal.objects.exists(), "the first period is the payment itself"
    assert life.told() == []


def test_a_renewal_is_one_entry_with_one_event_and_extends_what_was_bought(life: Life) -> None:
    for _ in range(3):
        life.hear(State.ACTIVE, 2)
    entry = Renewal.objects.get()
    assert (entry.ref, entry.amount, entry.currency, entry.status) == ("in_2", 500, "eur", "paid")
    assert (entry.period_start, entry.period_end) == (life.end_of(1), life.end_of(2))
    assert life.told() == ["subscription.renewed"]
    assert life.granted.valid_until == life.now.period_end == life.end_of(2)
    [event] = Event.objects.filter(type="subscription.renewed")
    assert event.data == {"subscription": life.now.summary(), "renewal": entry.summary()}


def test_a_refused_renewal_is_past_due_and_lasts_for_the_days_of_grace(life: Life, moving_clock: MovingClock) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))
    row = life.now
    assert (row.status, row.period_end, row.grace_until) == ("past_due", life.end_of(1), life.end_of(1) + 3 * DAY)
    assert row.past_due_since is not None
    assert life.granted.valid_until == row.grace_until
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed", tries=2))
    assert life.told() == ["subscription.past_due"], "each refusal of the same renewal is told once"
    assert Renewal.objects.get().tries == 2
    moving_clock.forward(days=32)
    assert life.granted.usable(live_only=False)
    moving_clock.forward(days=2)
    assert not life.granted.usable(live_only=False)


def test_a_refused_renewal_that_is_paid_after_all_is_active_again(life: Life) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))
    life.hear(State.ACTIVE, 2)
    row = life.now
    assert (row.status, row.past_due_since, row.grace_until) == ("active", None, None)
    assert life.granted.valid_until == life.end_of(2)
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))  # said before it was paid
    assert (life.now.status, Renewal.objects.get().status) == ("active", "paid")
    assert life.told() == ["subscription.past_due", "subscription.renewed"]


@pytest.mark.parametrize("days", [0, 14])
def test_the_operator_says_how_long_the_grace_is(till: Till, days: int) -> None:
    PaymentAccount.objects.update(renewal_grace=days)
    life = Life(till)
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))
    assert life.granted.valid_until == life.now.grace_until == life.end_of(1) + days * DAY


def test_a_renewal_that_was_not_attempted_yet_is_no_fault_and_what_was_bought_lasts(life: Life) -> None:
    """Stripe attempts the charge about an hour after the period has begun."""
    life.hear(State.ACTIVE, 1, life.invoice(2, "open"))
    assert (life.now.status, life.told()) == ("active", [])
    assert life.granted.valid_until == life.end_of(1) + 3 * DAY
    life.hear(State.ACTIVE, 2)
    assert life.told() == ["subscription.renewed"]


def test_a_renewal_that_was_given_up_is_not_due(life: Life) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))
    life.hear(State.ACTIVE, 1, life.invoice(2, "void"))
    assert (life.now.status, life.now.grace_until, Renewal.objects.get().status) == ("active", None, "void")
    told = life.told()
    life.hear(State.ACTIVE, 1, life.invoice(2, "failed"))  # an answer from before that
    assert (life.now.status, Renewal.objects.get().status, life.told()) == ("active", "void", told)
    life.hear(State.ACTIVE, 2, life.invoice(2, "paid"))  # what was given up may be paid all the same
    assert (Renewal.objects.get().status, life.told()) == ("paid", [*told, "subscription.renewed"])


def test_months_that_nobody_told_of_are_found_by_one_look(life: Life) -> None:
    life.hear(State.ACTIVE, 4)
    assert list(Renewal.objects.order_by("period_start").values_list("ref", flat=True)) == ["in_2", "in_3", "in_4"]
    assert life.told() == ["subscription.renewed"] * 3
    assert life.granted.valid_until == life.end_of(4)


def test_what_was_paid_before_it_ended_is_recorded_with_its_end(life: Life) -> None:
    ended = life.start + timedelta(days=40)
    life.hear(State.CANCELLED, 2, period_end=ended)
    assert (life.now.status, life.now.ended_at, life.now.cancelled_by) == ("ended", ended, "provider")
    assert (life.granted.status, life.granted.valid_until) == ("ended", ended)
    assert life.told() == ["subscription.renewed", "payment.ended"]


def test_every_order_of_the_same_answers_ends_alike(till: Till) -> None:
    """Each three of these four, in every order, with the last of the life at the end."""
    for number, order in enumerate(itertools.permutations(range(4), 3)):
        Subscription.objects.all().delete()
        Entitlement.objects.all().delete()
        life = Life(till) if number == 0 else life_again(till)
        answers = [
            (State.ACTIVE, 1, [life.invoice(2, "open")]),
            (State.ACTIVE, 1, [life.invoice(2, "failed")]),
            (State.ACTIVE, 2, []),
            (State.ACTIVE, 2, [life.invoice(3, "failed")]),
        ]
        for index in order:
            state, paid, bills = answers[index]
            life.hear(state, paid, *bills)
        life.hear(State.CANCELLED, 2, life.invoice(3, "void"), period_end=life.end_of(2))
        assert (life.now.status, life.granted.status) == ("ended", "ended"), order
        assert life.granted.valid_until == life.end_of(2), order
        assert life.told().count("subscription.renewed") == 1, order
        assert life.told().count("payment.ended") == 1, order


def life_again(till: Till) -> Life:
    Event.objects.all().delete()
    Checkout.objects.all().delete()
    Payment.objects.all().delete()
    return Life(till)


def test_t237_a_cancellation_is_taken_from_the_answer_to_the_latest_question(life: Life) -> None:
    asked = clock.now()
    end = life.end_of(1)
    life.hear(State.ACTIVE, 1, ends_at=end, asked_at=asked)
    life.hear(State.ACTIVE, 1, asked_at=asked - timedelta(seconds=2))  # asked before, and answered late
    assert life.now.ends_at == end
    life.hear(State.ACTIVE, 1, asked_at=asked + timedelta(seconds=2))
    assert (life.now.ends_at, Payment.objects.get().ends_at, life.now.cancelled_by) == (None, None, "")
    life.hear(State.ACTIVE, 1, ends_at=end, asked_at=asked + timedelta(seconds=1))
    assert life.now.ends_at is None
    assert life.told() == ["payment.unsubscribed", "subscription.resumed"]


def test_whoever_cancels_again_while_the_provider_is_told_does_not_tell_it_too(life: Life) -> None:
    bought = life.checkout.payment
    assert cancellations.claim(cancellations.ask(bought))
    again = cancellations.ask(bought)
    assert again.try_at
    assert not cancellations.claim(again)


def test_t236_what_was_cancelled_is_taken_up_again_by_its_payer_alone(life: Life) -> None:
    life.hear(State.ACTIVE, 1, ends_at=life.end_of(1), asked_at=clock.now())
    with pytest.raises(NotFound):
        elicitations.resume_subscription(life.now.pk, Claim(rows.ISSUER, "bob"))
    assert life.now.ends_at == life.end_of(1)
    assert life.told() == ["payment.unsubscribed"]


def test_one_that_is_not_cancelled_or_has_ended_is_not_taken_up_again(life: Life) -> None:
    for ended in (False, True):
        if ended:
            life.hear(State.CANCELLED, 1)
        with pytest.raises(Conflict):
            elicitations.resume_subscription(life.now.pk, life.now.claim)


def test_t237_what_was_replayed_revives_nothing_that_has_ended(life: Life) -> None:
    ended = life.start + DAY
    life.hear(State.CANCELLED, 1, period_end=ended)
    for paid in (1, 2, 3):
        life.hear(State.ACTIVE, paid, life.invoice(paid + 1, "failed"), asked_at=clock.now() + DAY)
    assert (life.now.status, life.granted.status, life.granted.valid_until) == ("ended", "ended", ended)
    assert not life.granted.usable(live_only=False)
    assert life.told() == ["payment.ended"]
    assert not Renewal.objects.exists()


def test_t238_nobody_sees_what_others_subscribed_to(life: Life) -> None:
    other = rows.agent("other-bot")
    with pytest.raises(NotFound):
        own_subscription(other.row, life.now.pk)
    assert own_subscription(life.till.known.row, life.now.pk) == life.now
    assert not queries.subscriptions_by(Claim(rows.ISSUER, "bob")).exists()
    assert queries.subscriptions_by(life.now.claim).get() == life.now


def test_t239_a_refused_renewal_extends_nothing_beyond_the_grace(life: Life) -> None:
    """Stripe moves the current period on before it is paid."""
    for month in (2, 3, 4):
        life.hear(State.ACTIVE, 1, *(life.invoice(one, "failed") for one in range(2, month + 1)))
    assert life.granted.valid_until == life.end_of(1) + 3 * DAY
    assert life.told() == ["subscription.past_due"] * 3


@pytest.mark.parametrize(("amount", "currency"), [(501, "eur"), (500, "usd")])
def test_t240_a_renewal_at_another_price_is_told_to_agent_and_operator(life: Life, amount: int, currency: str) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=amount, currency=currency))
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=amount, currency=currency))
    assert life.told() == ["subscription.renewed", "payment.mismatch"]
    assert f"{amount} {currency}, agreed was 500 eur" in Payment.objects.get().problem
    assert Event.objects.get(type="payment.mismatch").data["problem"]["code"] == "renewal"


def test_the_books_have_a_renewal_in_the_currency_that_was_charged(life: Life) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=540, currency="usd"))
    period = Period(clock.now() - DAY, clock.now() + DAY)
    lines = [(one.amount, one.currency) for one in entries(period)]
    assert lines == [(one.charged, one.currency) for one in totals(period)] == [(500, "eur"), (540, "usd")]


def test_a_renewal_that_a_credit_has_paid_moved_no_money(life: Life) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=0))
    compared = Reconciliation(life.till.account, clock.now() - DAY, clock.now() + DAY)
    bought = Payment.objects.get()
    line = BalanceLine("txn_1", Movement.CHARGE, clock.now(), 500, "eur", bought.payment_ref, life.checkout.pk)
    compared.add([line])
    assert compared.differences() == []
    [total] = totals(Period(compared.since, compared.until))
    assert (total.charges, total.charged) == (1, 500)


def test_t240_one_that_costs_less_is_none_of_their_business(life: Life) -> None:
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=400))
    assert life.told() == ["subscription.renewed"]


def test_t241_ten_looks_at_once_are_one_entry(life: Life) -> None:
    """Each renewal is found by the provider's id of its invoice, and the payment's row is locked."""
    for _ in range(10):
        life.hear(State.ACTIVE, 3, asked_at=clock.now())
    assert Renewal.objects.count() == 2
    assert life.told() == ["subscription.renewed"] * 2


def test_parts_given_back_of_several_periods_take_nothing(life: Life) -> None:
    life.hear(State.ACTIVE, 1, refunds=(RefundSeen("re_1", 250, "done"),))
    life.hear(State.ACTIVE, 2, refunds=(RefundSeen("re_2", 250, "done"),))
    assert life.granted.status == "active"
    assert Payment.objects.get().refunded == 500


@pytest.mark.parametrize(("back", "stands"), [(500, "active"), (2000, "revoked")])
def test_what_takes_it_is_a_refund_of_all_that_the_latest_period_cost(life: Life, back: int, stands: str) -> None:
    """Whatever the first one cost."""
    life.hear(State.ACTIVE, 1, life.invoice(2, amount=2000), refunds=(RefundSeen("re_1", back, "done"),))
    assert life.granted.status == stands
