"""The providers' webhooks: kept once, answered, and done after what they hint at is committed.

Signed ones are kept by the provider's id of them. Unsigned ones anybody can send: they are kept only for checkouts of
ours, one row for each, which becomes due again, and not more often than every few seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, QuerySet

from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Inbound, PaymentAccount
from elicit_flows.queue import bell

LEASE = timedelta(seconds=60)
MAX_TRIES = 20  # with the delays below about three days
HINTS_APART = timedelta(seconds=2)


def keep(account: PaymentAccount, notices: Iterable[Notice]) -> None:
    """Keep each once, by the provider's id of it. The worker is told when they are kept."""
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
        transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))


def hint(account: PaymentAccount, notices: Iterable[Notice]) -> None:
    """For each checkout of ours that is named: its row is due, also while an earlier hint is being followed."""
    named = {notice.ref: notice for notice in notices if notice.ref}
    ours = Checkout.objects.filter(account=account, ref__in=named).values_list("ref", flat=True)
    for ref in filter(None, ours):
        known = Inbound.objects.filter(account=account, event_id=ref).first()
        if known is None:
            keep(account, [named[ref]])
        else:
            _again(known)


def _again(row: Inbound) -> None:
    soonest = row.done_at + HINTS_APART if row.done_at else clock.now()
    with transaction.atomic():
        Inbound.objects.filter(pk=row.pk).update(try_at=max(clock.now(), soonest), tries=0)
        transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))


def ignored(account: PaymentAccount, count: int) -> None:
    """Webhooks of the other mode (livemode): nothing of them is kept but their number, for the metrics."""
    PaymentAccount.objects.filter(pk=account.pk).update(ignored=F("ignored") + count)


def due(limit: int, without: Collection[int] = ()) -> Iterable[Inbound]:
    """Those whose effect is not committed yet, oldest first; not those of the accounts ``without``."""
    rows = Inbound.objects.filter(try_at__lte=clock.now()).select_related("account")
    return rows.exclude(account__in=without).order_by("try_at")[:limit]


def claim(row: Inbound) -> bool:
    """One of several workers gets to do it."""
    until = clock.now() + LEASE
    mine = Inbound.objects.filter(pk=row.pk, try_at=row.try_at)
    claimed = mine.update(tries=F("tries") + 1, try_at=until) == 1
    row.tries, row.try_at = row.tries + 1, until
    return claimed


def checkouts_of(row: Inbound) -> list[Checkout]:
    """What the notice is about, by what we wrote down ourselves; nothing when it is not about anything of ours."""
    rows = Checkout.objects.filter(account=row.account).select_related("payment__elicitation__agent", "account")
    if row.ref:
        return list(rows.filter(ref=row.ref))
    if row.payment_ref:
        return list(rows.filter(payment__payment_ref=row.payment_ref, status=Checkout.Status.PAID))
    return []


def done(row: Inbound) -> None:
    """What was claimed; a hint that came since is still to be followed."""
    Inbound.objects.filter(pk=row.pk).update(done_at=clock.now())
    _claimed(row).update(try_at=None)


def later(row: Inbound) -> None:
    """The provider could not be asked; given up after three days, when the sweep has long asked by itself."""
    over = row.tries >= MAX_TRIES
    pause = min(timedelta(seconds=2**row.tries), timedelta(hours=6))
    _claimed(row).update(try_at=None if over else clock.now() + pause)


def _claimed(row: Inbound) -> QuerySet[Inbound]:
    """The row, unless another worker or another hint has taken it since: each writes a time of its own."""
    return Inbound.objects.filter(pk=row.pk, try_at=row.try_at)
