"""The providers' webhooks: each is stored once, answered, and marked as done after its effect is committed.

Signed ones are stored under the provider's id. Anybody can send unsigned ones, so they are stored only for our own
checkouts: one row each, which becomes due again, but not more often than every few seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q

from elicit_flows.events import wakeups
from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.models import Checkout, Inbound, PaymentAccount, leases

RETRIES = RetrySchedule.doubling(timedelta(seconds=1), timedelta(hours=6), most=20)  # about a day and a half
HINTS_APART = timedelta(seconds=2)


def keep(account: PaymentAccount, notices: Iterable[Notice]) -> None:
    """Store each notice once, by the provider's id. The worker is woken when they are committed."""
    rows = [
        Inbound(
            account=account,
            event_id=notice.id,
            type=notice.type,
            ref=notice.ref or "",
            payment_ref=notice.payment_ref or "",
        )
        for notice in notices
    ]
    with transaction.atomic():
        Inbound.objects.bulk_create(rows, ignore_conflicts=True)
        transaction.on_commit(partial(wakeups.wake_workers, PAYMENTS))


def hint(account: PaymentAccount, notices: Iterable[Notice]) -> None:
    """Make the row of each named checkout of ours due, even while an earlier hint is being followed."""
    named = {notice.ref: notice for notice in notices if notice.ref}
    ours = Checkout.objects.filter(account=account, ref__in=named).values_list("ref", flat=True)
    for ref in filter(None, ours):
        known = Inbound.objects.filter(account=account, event_id=ref).first()
        if known is None:
            keep(account, [named[ref]])
        else:
            soonest = known.done_at + HINTS_APART if known.done_at else clock.now()
            with transaction.atomic():
                Inbound.objects.filter(pk=known.pk).update(try_at=max(clock.now(), soonest), tries=0)
                transaction.on_commit(partial(wakeups.wake_workers, PAYMENTS))


def ignored(account: PaymentAccount, count: int) -> None:
    """Count webhooks of the other mode (livemode) for the metrics. Nothing else of them is stored."""
    PaymentAccount.objects.filter(pk=account.pk).update(ignored=F("ignored") + count)


def due(account: int, limit: int) -> Iterable[Inbound]:
    """The webhooks of this account whose effect is not committed yet, oldest first."""
    rows = Inbound.objects.filter(account=account, try_at__lte=clock.now())
    return rows.select_related("account").order_by("try_at")[:limit]


def claim(row: Inbound) -> bool:
    """Claim the row. One of several workers gets it."""
    return leases.claim(row, "try_at", tries=row.tries + 1, try_at=clock.now() + PAYMENTS.lease)


def checkouts_of(row: Inbound) -> list[Checkout]:
    """The checkouts that the notice is about, found by our own records; empty if it is about something else."""
    rows = Checkout.objects.filter(account=row.account).select_related("payment__elicitation__agent", "account")
    if row.ref:
        return list(rows.filter(ref=row.ref))
    if row.payment_ref:
        paid = Q(payment__payment_ref=row.payment_ref, status=Checkout.Status.PAID)
        return list(rows.filter(paid | Q(ref=row.payment_ref)))
    return []


def done(row: Inbound) -> None:
    """Mark the claimed row as done. A hint that arrived since then stays due."""
    Inbound.objects.filter(pk=row.pk).update(done_at=clock.now())
    leases.held(row, "try_at").update(try_at=None)


def later(row: Inbound) -> None:
    """Schedule the next attempt. There is a last one, since the sweep asks the provider by itself."""
    given_up = RETRIES.is_used_up(row.tries)
    leases.held(row, "try_at").update(try_at=None if given_up else clock.now() + RETRIES.pause(row.tries))
