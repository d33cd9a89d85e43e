"""What becomes of money that came is looked at now and then: the webhook that tells of it may be lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from elicit_flows import elicitations
from elicit_flows.elicitations import payment
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Payment
from elicit_flows.payments import checkouts
from tests.settlement.conftest import Till
from tests.support import jobs
from tests.support.moving import MovingClock

HOURS = [1, 24, 7 * 24, 30 * 24, 90 * 24, 120 * 24]


def test_a_payment_is_looked_at_ever_more_rarely_and_then_no_more(till: Till, moving_clock: MovingClock) -> None:
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    paid_at = Payment.objects.get(elicitation=row).paid_at
    assert paid_at
    looked = []
    while (at := Checkout.objects.get().look_at) is not None:
        looked.append(round((at - paid_at) / timedelta(hours=1)))
        moving_clock.forward(seconds=(at - clock.now()).total_seconds() + 1)
        assert [one.pk for one in checkouts.due(checkout.account_id, 10)] == [checkout.pk]
        till.hear(checkout, State.PAID)
    assert looked == HOURS


def test_a_refund_that_nobody_told_of_is_found_by_such_a_look(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    checkout.refresh_from_db()
    said = till.says(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, "done"),))
    monkeypatch.setattr(payment, "plug_in", lambda _: Says(said))
    assert jobs.sweep_payments() == 0
    moving_clock.forward(hours=1, seconds=1)
    assert jobs.sweep_payments() == 1
    assert jobs.sweep_payments() == 0
    assert till.told(row)[-1] == "payment.refunded"
    assert Payment.objects.get().summary()["status"] == "refunded"


class Says:
    """A provider that always says the same."""

    def __init__(self, said: object) -> None:
        self.said = said

    def fetch(self, account: object, ref: str) -> object:
        return self.said


@pytest.mark.slow
def test_a_subscription_is_looked_at_every_day_until_it_ends(till: Till, moving_clock: MovingClock) -> None:
    row = till.ask(mode="subscribe", interval="month")
    checkout = till.open(row)
    for _ in range(200):
        till.hear(checkout, State.ACTIVE, payment_ref="sub_1", period_end=clock.now() + timedelta(days=30))
        at = Checkout.objects.get().look_at
        assert at
        assert timedelta(hours=23) < at - clock.now() <= timedelta(days=1)
        moving_clock.forward(days=1)
    ended = clock.now()
    till.hear(checkout, State.CANCELLED, payment_ref="sub_1", period_end=ended)
    assert Checkout.objects.get().look_at == ended + timedelta(hours=1), "its last payment may still go back"


def test_an_old_subscription_is_looked_at_the_day_after_its_provider_was_away(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = till.open(till.ask(mode="subscribe", interval="month"))
    moving_clock.forward(days=400)
    till.hear(checkout, State.ACTIVE, payment_ref="sub_1", period_end=clock.now() + timedelta(days=30))
    moving_clock.forward(days=1, seconds=1)
    monkeypatch.setattr(payment, "plug_in", lambda _: KnowsNothing())
    assert jobs.sweep_payments() == 1
    at = Checkout.objects.get().look_at
    assert at
    assert timedelta(0) < at - clock.now() <= timedelta(days=1)


def test_a_payment_is_looked_at_every_day_while_it_is_disputed(till: Till, moving_clock: MovingClock) -> None:
    checkout = till.open(till.ask())
    till.hear(checkout, State.PAID)
    for days, state in ((5, "open"), (6, "open"), (7, "won")):
        till.hear(checkout, State.PAID, disputes=(DisputeSeen("dp_1", 500, state),))
        at = Checkout.objects.get().look_at
        assert at
        assert (at - clock.now() <= timedelta(days=1)) == (state == "open"), days
        moving_clock.forward(days=8)


def test_what_came_otherwise_than_asked_is_looked_at_too(till: Till) -> None:
    row = till.ask()
    till.hear(till.open(row), State.PAID, amount=499)
    assert Checkout.objects.get().look_at


def test_what_was_taken_back_while_the_bank_is_at_it_is_not_asked_about_every_minute(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bank takes days; asking each minute would be thousands of requests for one payment."""
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PROCESSING)
    elicitations.cancel(row)
    checkout.refresh_from_db()
    monkeypatch.setattr(payment, "plug_in", lambda _: Says(till.says(checkout, State.PROCESSING)))
    looks = 0
    for _ in range(7 * 24):
        looks += jobs.sweep_payments()
        moving_clock.forward(hours=1)
    assert 10 < looks < 60
    assert till.stands(row) == ("cancelled", "processing")


@pytest.mark.parametrize("pressed", [State.OPEN, State.PROCESSING])
def test_a_page_that_the_provider_knows_nothing_of_does_not_keep_the_elicitation_for_ever(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch, pressed: State
) -> None:
    """The key belongs to another account now, or the provider has forgotten the payment."""
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, pressed)
    monkeypatch.setattr(payment, "plug_in", lambda _: KnowsNothing())
    moving_clock.forward(hours=20)
    assert jobs.sweep_payments() == 1
    assert elicitations.sweep() == 0, "it may still be known tomorrow"
    for _ in range(40):
        moving_clock.forward(days=1)
        jobs.sweep_payments()
        elicitations.sweep()
    assert till.stands(row) == ("expired", "closed")
    assert till.told(row)[-1] == "elicitation.expired"
    assert Checkout.objects.get().look_at is None


class KnowsNothing:
    """A provider that refuses whatever it is asked."""

    def fetch(self, account: object, ref: str) -> object:
        raise Refused("resource_missing", "There is no such checkout.")

    def close(self, account: object, ref: str, key: str) -> object:
        raise Refused("resource_missing", "There is no such checkout.")


def test_who_returns_while_a_worker_replaces_the_method_waits_for_it(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the page that follows says nothing of it."""
    checkout = till.open(till.ask())
    Checkout.objects.filter(pk=checkout.pk).update(replaces="")
    monkeypatch.setattr(payment, "settle", lambda checkout: False)  # as it ends where another has the look
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            Checkout.objects.filter(pk=checkout.pk).update(status=Checkout.Status.PAID)

    monkeypatch.setattr(payment.time, "sleep", wait)
    back, unpaid = elicitations.back_from_checkout(till.account.slug, checkout.pk)
    assert (back.status, unpaid, len(waits)) == (Checkout.Status.PAID, False, 3)


def test_who_returns_from_a_page_that_nobody_finishes_does_not_wait_for_ever(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = till.open(till.ask())
    Checkout.objects.filter(pk=checkout.pk).update(replaces="")
    monkeypatch.setattr(payment, "settle", lambda checkout: False)
    monkeypatch.setattr(payment, "REPLACED_WITHIN", 0.05)
    monkeypatch.setattr(payment, "POLL", 0.01)
    back, _ = elicitations.back_from_checkout(till.account.slug, checkout.pk)
    assert back.status == Checkout.Status.OPEN
