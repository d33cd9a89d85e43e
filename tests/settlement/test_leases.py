"""Claims: one of several workers gets a row, and who lost it writes nothing over what the next one wrote."""

from __future__ import annotations

from datetime import timedelta

from elicit_flows.job_table import PAYMENTS
from elicit_flows.lib import clock
from elicit_flows.models import Inbound, Refund, leases
from elicit_flows.payments import refunds
from tests.settlement.conftest import Till
from tests.support.moving import MovingClock


def asked(till: Till) -> Refund:
    checkout = till.open(till.ask())
    return Refund.objects.create(
        payment=checkout.payment, payment_ref="pi_1", amount=500, by=Refund.By.AGENT, try_at=clock.now()
    )


def test_one_of_two_gets_it_and_the_other_sees_nothing_of_its_own_in_the_row(till: Till) -> None:
    refund = asked(till)
    one, other = (Refund.objects.get(pk=refund.pk) for _ in range(2))
    assert [refunds.claim(one), refunds.claim(other)] == [True, False]
    assert (one.tries, other.tries, Refund.objects.get(pk=refund.pk).tries) == (1, 0, 1)


def test_what_is_due_to_nobody_is_claimed_by_nobody(till: Till) -> None:
    row = Inbound.objects.create(account=till.account, event_id="evt_1", type="x", try_at=None)
    assert not leases.claim(row, "try_at", try_at=clock.now())
    assert Inbound.objects.get(pk=row.pk).try_at is None


def test_what_must_hold_beside_the_fence_holds(till: Till) -> None:
    refund = asked(till)
    later = clock.now() + timedelta(hours=1)
    assert not leases.claim(refund, "try_at", only={"status": Refund.Status.DONE}, try_at=later)
    assert leases.claim(refund, "try_at", only={"status": Refund.Status.ASKED}, try_at=later)


def test_who_was_slow_gives_no_refund_another_key_while_the_next_one_is_trying(
    till: Till, moving_clock: MovingClock
) -> None:
    """A second idempotency key at the provider would be a second refund."""
    slow = asked(till)
    assert refunds.claim(slow)
    moving_clock.forward(seconds=PAYMENTS.lease.total_seconds() + 1)
    quick = Refund.objects.get(pk=slow.pk)
    assert refunds.claim(quick)
    refunds.later(slow, "unclear", another_key=True)
    kept = Refund.objects.get(pk=slow.pk)
    assert (kept.key_number, kept.try_at, kept.problem) == (quick.key_number, quick.try_at, "")
