"""T119: of a provider's webhooks nothing is kept for ever; what is not done yet is not lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from elicit_flows.jobs.purge import purge
from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib import clock
from elicit_flows.models import Inbound, PaymentAccount
from elicit_flows.payments import inbound_webhooks
from tests.support import money
from tests.support.moving import MovingClock


@pytest.fixture
def account(committed: None) -> PaymentAccount:
    return money.account()


def came(account: PaymentAccount, event: str) -> Inbound:
    inbound_webhooks.keep(account, [Notice(event, "checkout.session.completed", "cs_of_nobody", None, False)])
    return Inbound.objects.get(event_id=event)


def test_t119_what_was_done_goes_after_thirty_days_and_not_before(
    account: PaymentAccount, moving_clock: MovingClock
) -> None:
    inbound_webhooks.done(came(account, "evt_1"))
    moving_clock.forward(days=30, seconds=-5)
    assert purge()["inbound"] == 0
    assert Inbound.objects.count() == 1
    moving_clock.forward(seconds=10)
    assert purge()["inbound"] == 1
    assert not Inbound.objects.exists()


def test_t119_what_is_still_to_be_done_stays_and_what_was_given_up_goes(
    account: PaymentAccount, moving_clock: MovingClock
) -> None:
    waiting, given_up = came(account, "evt_waiting"), came(account, "evt_given_up")
    Inbound.objects.filter(pk=given_up.pk).update(tries=inbound_webhooks.RETRIES.most)
    given_up.refresh_from_db()
    inbound_webhooks.later(given_up)
    moving_clock.forward(days=400)
    assert purge()["inbound"] == 1
    assert Inbound.objects.get().pk == waiting.pk
    assert [row.pk for row in inbound_webhooks.due(account.pk, 10)] == [waiting.pk]


def test_t119_an_event_that_comes_again_after_that_is_one_more_look_and_no_harm(
    account: PaymentAccount, moving_clock: MovingClock
) -> None:
    inbound_webhooks.done(came(account, "evt_1"))
    moving_clock.forward(days=31)
    purge()
    again = came(account, "evt_1")
    assert clock.now() - again.received_at < timedelta(minutes=1)
    assert inbound_webhooks.checkouts_of(again) == []
