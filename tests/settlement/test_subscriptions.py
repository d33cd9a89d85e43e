"""A subscription after its first payment: it goes on, and one day it ends (payments.md, section 5, case 32)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from elicit_flows.domain.errors import Conflict
from elicit_flows.kinds.payment.values import RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Entitlement, Payment, Refund
from elicit_flows.payments import entitlements, refunds
from tests.settlement.conftest import Till
from tests.support.moving import MovingClock

DONE = ["elicitation.created", "elicitation.started", "elicitation.settling", "elicitation.completed"]


def end_of(months: int) -> datetime:
    return clock.now().replace(microsecond=0) + timedelta(days=30 * months)


@pytest.fixture
def row(till: Till) -> Elicitation:
    return till.ask(mode="subscribe", interval="month", item="news")


@pytest.fixture
def checkout(till: Till, row: Elicitation) -> Checkout:
    return till.open(row)


def hear(till: Till, checkout: Checkout, state: State, period_end: datetime | None, **more: object) -> None:
    till.hear(checkout, state, payment_ref="sub_1", period_end=period_end, **more)


def test_case_32_what_is_subscribed_to_may_be_used_until_the_end_of_what_is_paid(
    till: Till, row: Elicitation, checkout: Checkout, moving_clock: MovingClock
) -> None:
    hear(till, checkout, State.ACTIVE, end_of(1))
    assert till.stands(row) == ("completed", "active")
    assert Entitlement.objects.get().usable(live_only=False)
    moving_clock.forward(days=31)
    assert not Entitlement.objects.get().usable(live_only=False)
    assert till.told(row) == DONE


def test_case_32_a_renewal_lasts_longer_and_an_older_word_does_not_shorten_it(
    till: Till, row: Elicitation, checkout: Checkout
) -> None:
    first, second = end_of(1), end_of(2)
    for period_end in (first, second, first, None):
        hear(till, checkout, State.ACTIVE, period_end)
    assert Entitlement.objects.get().valid_until == second
    assert till.stands(row) == ("completed", "active")
    assert till.told(row) == DONE


def test_case_32_a_subscription_that_ends_takes_what_it_gave_and_is_told_once(
    till: Till, row: Elicitation, checkout: Checkout
) -> None:
    hear(till, checkout, State.ACTIVE, end_of(1))
    ended = clock.now().replace(microsecond=0)
    for _ in range(2):
        hear(till, checkout, State.CANCELLED, ended)
    hear(till, checkout, State.ACTIVE, end_of(1))  # said before it ended
    entitlement = Entitlement.objects.get()
    assert (str(entitlement.status), entitlement.usable(live_only=False), entitlement.valid_until) == (
        "ended",
        False,
        ended,
    )
    assert till.stands(row) == ("completed", "ended")
    assert till.told(row) == [*DONE, "payment.ended"]
    assert till.ask(mode="subscribe", interval="month", item="news").status == "pending", "it can be had anew"


@pytest.mark.parametrize("state", [State.ACTIVE, State.CANCELLED])
def test_who_asks_to_refund_a_subscription_is_told_where_that_is_done(
    till: Till, row: Elicitation, checkout: Checkout, state: State
) -> None:
    hear(till, checkout, State.ACTIVE, end_of(1))
    hear(till, checkout, state, end_of(1))
    with pytest.raises(Conflict, match="at the provider"):
        refunds.ask(Payment.objects.get(elicitation=row), None, Refund.By.AGENT)
    assert not Refund.objects.exists()


def test_case_32_a_renewal_that_is_not_paid_lasts_no_longer_and_may_still_be_paid(
    till: Till, row: Elicitation, checkout: Checkout
) -> None:
    first, second = end_of(1), end_of(2)
    hear(till, checkout, State.ACTIVE, first)
    hear(till, checkout, State.PROCESSING, second)
    assert Entitlement.objects.get().valid_until == first
    assert till.stands(row) == ("completed", "active")
    hear(till, checkout, State.ACTIVE, second)
    assert Entitlement.objects.get().valid_until == second
    assert till.told(row) == DONE


@pytest.mark.parametrize("taken", ["revoked", "suspended"])
def test_what_was_taken_for_another_reason_is_not_given_again_by_a_renewal(
    till: Till, row: Elicitation, checkout: Checkout, taken: str
) -> None:
    hear(till, checkout, State.ACTIVE, end_of(1))
    payment = Payment.objects.get(elicitation=row)
    {"revoked": entitlements.revoke, "suspended": entitlements.suspend}[taken](payment)
    hear(till, checkout, State.ACTIVE, end_of(2))
    assert Entitlement.objects.get().status == taken
    hear(till, checkout, State.CANCELLED, end_of(0))
    assert Entitlement.objects.get().status == ("revoked" if taken == "revoked" else "ended")
    assert till.stands(row) == ("completed", "ended")


def test_t105_the_end_of_a_subscription_that_was_paid_twice_does_not_end_the_one_that_counts(
    till: Till, row: Elicitation
) -> None:
    first = till.open(row)
    till.hear(first, State.EXPIRED)
    second = till.open(row)
    hear(till, second, State.ACTIVE, end_of(1))
    till.hear(first, State.ACTIVE, payment_ref="sub_2", period_end=end_of(1))  # the provider had said otherwise
    refund = Refund.objects.get()
    assert (refund.payment_ref, refund.amount) == ("sub_2", 500)
    back = (RefundSeen("re_1", 500, "done", refund.pk),)
    till.hear(first, State.CANCELLED, payment_ref="sub_2", period_end=end_of(0), refunds=back)
    assert till.stands(row) == ("completed", "active")
    assert Entitlement.objects.get().usable(live_only=False)
    assert Payment.objects.get().refunded == 0
    assert till.told(row) == [*DONE, "payment.mismatch", "payment.refunded"]
