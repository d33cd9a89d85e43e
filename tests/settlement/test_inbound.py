"""Webhooks that are kept, and hints that anybody may give: how little is kept of them, and that none is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Inbound, PaymentAccount
from elicit_flows.payments import inbound_webhooks
from tests.settlement.conftest import Till
from tests.support.moving import MovingClock


def hint(till: Till, *refs: str | None) -> None:
    inbound_webhooks.hint(till.account, [Notice(ref or "", "hint", ref, None, False) for ref in refs])


@pytest.fixture
def page(till: Till) -> Checkout:
    """One that somebody has been sent to."""
    made = till.open(till.ask())
    made.refresh_from_db()
    return made


def row() -> Inbound:
    return Inbound.objects.get()


def due() -> list[str]:
    return [one.ref for one in inbound_webhooks.due(PaymentAccount.objects.get().pk, 10)]


def test_t99_a_flood_of_hints_at_what_is_none_of_ours_keeps_nothing(till: Till, page: Checkout) -> None:
    for number in range(50):
        hint(till, f"tr_{number}", None)
    assert not Inbound.objects.exists()


def test_t99_a_hint_at_another_accounts_checkout_keeps_nothing(till: Till, page: Checkout) -> None:
    till.account.pk, till.account.slug = None, "second"
    till.account.save()
    hint(till, page.ref)
    assert not Inbound.objects.exists()


def test_any_number_of_hints_at_one_checkout_is_one_row(till: Till, page: Checkout) -> None:
    for _ in range(50):
        hint(till, page.ref)
    assert due() == [page.ref]
    assert inbound_webhooks.checkouts_of(row()) == [page]


def test_one_of_two_workers_follows_a_hint(till: Till, page: Checkout) -> None:
    hint(till, page.ref)
    one, other = row(), row()
    assert [inbound_webhooks.claim(one), inbound_webhooks.claim(other)] == [True, False]
    inbound_webhooks.done(one)
    assert due() == []
    assert row().done_at


def test_a_hint_that_comes_while_an_earlier_one_is_followed_is_not_lost(till: Till, page: Checkout) -> None:
    hint(till, page.ref)
    followed = row()
    assert inbound_webhooks.claim(followed)
    assert due() == []
    hint(till, page.ref)
    inbound_webhooks.done(followed)
    assert due() == [page.ref]


def test_a_hint_that_comes_while_an_earlier_one_fails_waits_for_nothing(till: Till, page: Checkout) -> None:
    hint(till, page.ref)
    followed = row()
    assert inbound_webhooks.claim(followed)
    hint(till, page.ref)
    inbound_webhooks.later(followed)
    assert due() == [page.ref]


def test_t99_hints_in_a_row_are_followed_some_time_apart(
    till: Till, page: Checkout, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound_webhooks, "HINTS_APART", timedelta(hours=1))
    hint(till, page.ref)
    followed = row()
    assert inbound_webhooks.claim(followed)
    inbound_webhooks.done(followed)
    for _ in range(50):
        hint(till, page.ref)
    assert due() == []
    moving_clock.forward(hours=1)
    assert due() == [page.ref]


def test_a_hint_is_followed_however_many_there_were_before(till: Till, page: Checkout) -> None:
    for _ in range(inbound_webhooks.RETRIES.most + 1):
        hint(till, page.ref)
        followed = row()
        assert inbound_webhooks.claim(followed)
        inbound_webhooks.later(followed)
    assert row().try_at


def test_what_was_claimed_and_never_done_is_due_again(till: Till, page: Checkout, moving_clock: MovingClock) -> None:
    hint(till, page.ref)
    assert inbound_webhooks.claim(row())
    moving_clock.forward(seconds=PAYMENTS.lease.total_seconds() + 1)
    assert due() == [page.ref]


def test_t102_a_signed_webhook_that_comes_again_is_kept_once_and_not_followed_again(till: Till, page: Checkout) -> None:
    event = Notice("evt_1", "checkout.session.completed", page.ref, None, False)
    inbound_webhooks.keep(till.account, [event])
    followed = row()
    assert inbound_webhooks.claim(followed)
    inbound_webhooks.done(followed)
    inbound_webhooks.keep(till.account, [event])
    assert due() == []


def test_a_provider_that_cannot_be_asked_is_asked_later_and_later(till: Till, page: Checkout) -> None:
    hint(till, page.ref)
    pauses = []
    for _ in range(3):
        Inbound.objects.update(try_at=clock.now())
        followed = row()
        assert inbound_webhooks.claim(followed)
        inbound_webhooks.later(followed)
        pauses.append((row().try_at or clock.now()) - clock.now())
    assert [round(one / timedelta(seconds=1)) for one in pauses] == [2, 4, 8]
