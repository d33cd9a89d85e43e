"""The providers' webhooks: kept once, answered, and done after what they hint at is committed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F

from elicit_flows.kinds.payment.values import Notice
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Inbound, PaymentAccount
from elicit_flows.queue import bell

LEASE = timedelta(seconds=60)
MAX_TRIES = 20  # with the delays below about three days


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


def due(limit: int) -> Iterable[Inbound]:
    """Those whose effect is not committed yet, oldest first."""
    rows = Inbound.objects.filter(try_at__lte=clock.now()).select_related("account")
    return rows.order_by("try_at")[:limit]


def claim(row: Inbound) -> bool:
    """One of several workers gets to do it."""
    mine = Inbound.objects.filter(pk=row.pk, tries=row.tries, done_at=None)
    return mine.update(tries=F("tries") + 1, try_at=clock.now() + LEASE) == 1


def checkouts_of(row: Inbound) -> list[Checkout]:
    """What the notice is about, by what we wrote down ourselves; nothing when it is not about anything of ours."""
    rows = Checkout.objects.filter(account=row.account).select_related("payment__elicitation__agent", "account")
    if row.ref:
        return list(rows.filter(ref=row.ref))
    if row.payment_ref:
        return list(rows.filter(payment__payment_ref=row.payment_ref, status=Checkout.Status.PAID))
    return []


def done(row: Inbound) -> None:
    Inbound.objects.filter(pk=row.pk).update(done_at=clock.now(), try_at=None)


def later(row: Inbound) -> None:
    """The provider could not be asked; given up after three days, when the sweep has long asked by itself."""
    over = row.tries + 1 >= MAX_TRIES
    pause = min(timedelta(seconds=2 ** (row.tries + 1)), timedelta(hours=6))
    Inbound.objects.filter(pk=row.pk).update(try_at=None if over else clock.now() + pause)
