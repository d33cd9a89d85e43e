"""Money back: asked for by the agent, the operator or a policy, or seen at the provider."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Sum

from elicit_flows import queue
from elicit_flows.errors import Conflict, IdempotencyMismatch, Invalid
from elicit_flows.kinds.payment.values import RefundSeen, Snapshot
from elicit_flows.ledger import entitlements
from elicit_flows.lib import clock
from elicit_flows.models import Payment, Refund
from elicit_flows.queue import bell

log = logging.getLogger(__name__)
Status, By = Refund.Status, Refund.By
LEASE = timedelta(seconds=60)
MAX_TRIES = 12  # with the delays below about three days
SEEN = {"pending": Status.PENDING, "done": Status.DONE, "failed": Status.FAILED}
# One that was done can still fail: the money comes back.
_ORDER: list[str] = [Status.ASKED, Status.PENDING, Status.DONE, Status.FAILED]


def ask(payment: Payment, amount: int | None, by: Refund.By, reason: str = "", key: str | None = None) -> Refund:
    """Give back ``amount`` minor units, or what is left. The worker tells the provider, until it hears.

    Asked again with the same ``key`` it is the same refund. Raises Conflict, Invalid, IdempotencyMismatch.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        earlier = payment.refunds.filter(idempotency_key=key).first() if key else None
        if earlier:
            if amount is not None and earlier.amount != amount:
                raise IdempotencyMismatch(detail="This Idempotency-Key was used for a refund of another amount.")
            return earlier
        left = _left(payment)
        if not payment.payment_ref or left <= 0:
            raise Conflict("There is nothing left of this payment that could be given back.")
        if amount is not None and not 0 < amount <= left:
            raise Invalid.at("amount", f"Of this payment {left} minor units are left to give back.")
        return _make(payment, payment.payment_ref, amount or left, by, reason, key)


def give_back(payment: Payment, payment_ref: str, amount: int, reason: str) -> None:
    """By policy, in the caller's transaction; once for each payment at the provider."""
    if not payment.refunds.filter(payment_ref=payment_ref, by=By.POLICY).exists():
        _make(payment, payment_ref, amount, By.POLICY, reason, None)


def _make(payment: Payment, payment_ref: str, amount: int, by: Refund.By, reason: str, key: str | None) -> Refund:
    transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))
    return Refund.objects.create(
        payment=payment,
        payment_ref=payment_ref,
        amount=amount,
        by=by,
        reason=reason,
        idempotency_key=key,
        try_at=clock.now(),
    )


def _left(payment: Payment) -> int:
    """What is neither given back nor on its way, of the payment that counts."""
    if payment.status not in (Payment.Status.PAID, Payment.Status.MISMATCH):
        return 0
    gone = payment.refunds.filter(payment_ref=payment.payment_ref).exclude(status=Status.FAILED)
    return payment.amount - (gone.aggregate(sum=Sum("amount"))["sum"] or 0)


def due(limit: int, without: Collection[int] = ()) -> Iterable[Refund]:
    """Those that the provider has yet to be told of, oldest first; not those of the accounts ``without``."""
    rows = Refund.objects.filter(try_at__lte=clock.now()).select_related("payment__account", "payment__agent")
    return rows.exclude(payment__account__in=without).order_by("try_at")[:limit]


def claim(refund: Refund) -> bool:
    """One of several workers gets to tell the provider."""
    mine = Refund.objects.filter(pk=refund.pk, tries=refund.tries, try_at__isnull=False)
    claimed = mine.update(tries=F("tries") + 1, try_at=clock.now() + LEASE)
    refund.refresh_from_db(fields=["tries", "key_number"])
    return claimed == 1


def told(refund: Refund, seen: RefundSeen) -> None:
    """The provider took it."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=refund.payment_id)
        _record(payment, Refund.objects.get(pk=refund.pk), seen)


def later(refund: Refund, problem: str, *, another_key: bool = False) -> None:
    """The provider could not be told now; after three days of that it counts as failed."""
    if refund.tries >= MAX_TRIES:
        failed(refund, problem)
        return
    pause = min(timedelta(seconds=2**refund.tries), timedelta(hours=12))
    changed = {"key_number": F("key_number") + 1} if another_key else {}
    Refund.objects.filter(pk=refund.pk, status=Status.ASKED).update(
        try_at=clock.now() + pause, problem=problem[:500], **changed
    )


def failed(refund: Refund, problem: str) -> None:
    """The provider will not give it back: told to the agent, and to the operator."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=refund.payment_id)
        if Refund.objects.filter(pk=refund.pk, status=Status.ASKED).update(
            status=Status.FAILED, try_at=None, problem=problem[:500]
        ):
            refund.refresh_from_db()
            _tell(payment, refund)


def sync(payment: Payment, said: Snapshot) -> None:
    """The refunds that the provider knows of, ours and those of its dashboard. The payment is locked."""
    for seen in said.refunds:
        known = payment.refunds.filter(ref=seen.ref).first()
        if known is None and seen.our_id:
            known = payment.refunds.filter(pk=seen.our_id).first()
        if known is None:
            ref = said.payment_ref or ""
            known = Refund.objects.create(payment=payment, payment_ref=ref, amount=seen.amount, by=By.PROVIDER)
        _record(payment, known, seen)


def _record(payment: Payment, refund: Refund, seen: RefundSeen) -> None:
    """The refund as the provider says it is. Told once for each change; the payment is locked."""
    status = SEEN[seen.state]
    known = refund.status == status
    older = refund.ref == seen.ref and _ORDER.index(refund.status) > _ORDER.index(status)
    if known or older:  # two workers may apply what they were told the other way round
        return
    back = refund.status == Status.DONE  # the money did not arrive after all
    refund.status, refund.ref, refund.try_at, refund.problem = status, seen.ref, None, ""
    refund.done_at = clock.now() if status == Status.DONE else None
    refund.save()
    done = payment.refunds.filter(status=Status.DONE, payment_ref=payment.payment_ref)
    payment.refunded = done.aggregate(sum=Sum("amount"))["sum"] or 0
    payment.save(update_fields=["refunded"])
    if status in (Status.DONE, Status.FAILED):
        _tell(payment, refund)
    if 0 < payment.amount <= payment.refunded:
        entitlements.revoke(payment)
    elif back and not payment.problem:
        entitlements.give_again(payment)


def _tell(payment: Payment, refund: Refund) -> None:
    refund.payment = payment
    if refund.status == Status.FAILED:
        log.error("refund %s of payment %s failed: %s", refund.pk, payment.pk, refund.problem or "at the provider")
    kind = "payment.refunded" if refund.status == Status.DONE else "payment.refund_failed"
    queue.publish(payment.agent, kind, {"payment": payment.summary(), "refund": refund.summary()}, payment.elicitation)
