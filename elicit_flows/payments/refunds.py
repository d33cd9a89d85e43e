"""Refunds: requested by the agent, the operator or a policy, or found at the provider."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Sum

from elicit_flows import events
from elicit_flows.domain.errors import Conflict, IdempotencyMismatch, Invalid
from elicit_flows.events import wakeups
from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment.values import RefundSeen, Snapshot
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.models import Payment, Refund, leases
from elicit_flows.payments import entitlements

log = logging.getLogger(__name__)
Status, By = Refund.Status, Refund.By
RETRIES = RetrySchedule.doubling(timedelta(seconds=1), timedelta(hours=12), most=12)  # about 70 minutes
SEEN = {"pending": Status.PENDING, "done": Status.DONE, "failed": Status.FAILED}
# A refund that was done can still fail: the money comes back.
_ORDER: list[str] = [Status.ASKED, Status.PENDING, Status.DONE, Status.FAILED]


def ask(
    payment: Payment, amount: int | None, by: Refund.By, reason: str = "", key: str | None = None
) -> tuple[Refund, bool]:
    """Refund ``amount`` minor units; None refunds what is left. The worker tells the provider. Returns the refund, and
    whether an earlier request made it.

    The same ``key``, ``amount`` and ``reason`` again are the same refund. Raises Conflict, Invalid and
    IdempotencyMismatch.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        earlier = payment.refunds.filter(idempotency_key=key).first() if key else None
        if earlier:
            if (None if earlier.unnamed_amount else earlier.amount, earlier.reason) != (amount, reason):
                what = "This Idempotency-Key was used for a refund of another amount or with another reason."
                raise IdempotencyMismatch(detail=f"{what} Use a new key.")
            return earlier, True
        if payment.status in (Payment.Status.ACTIVE, Payment.Status.ENDED):
            raise Conflict("Payments of a subscription are refunded at the provider, by your operator.")
        left = 0  # what is neither refunded nor being refunded of the payment that counts
        if payment.status in (Payment.Status.PAID, Payment.Status.MISMATCH):
            gone = payment.refunds.filter(payment_ref=payment.payment_ref).exclude(status=Status.FAILED)
            left = payment.amount - (gone.aggregate(sum=Sum("amount"))["sum"] or 0)
        if not payment.payment_ref or left <= 0:
            raise Conflict("Nothing of this payment is left to refund.")
        if amount is not None and not 0 < amount <= left:
            raise Invalid.at("amount", f"Give 1 to {left}: that is what is left to refund, in minor units.")
        made = _make(
            payment, payment.payment_ref, amount or left, by, reason, unnamed_amount=amount is None, idempotency_key=key
        )
    return made, False


def give_back(payment: Payment, payment_ref: str, amount: int, reason: str) -> None:
    """Refund by policy, in the caller's transaction, once for each payment at the provider."""
    if not payment.refunds.filter(payment_ref=payment_ref, by=By.POLICY).exists():
        _make(payment, payment_ref, amount, By.POLICY, reason)


def _make(payment: Payment, payment_ref: str, amount: int, by: Refund.By, reason: str, **more: Any) -> Refund:
    transaction.on_commit(partial(wakeups.wake_workers, PAYMENTS))
    return Refund.objects.create(
        payment=payment,
        payment_ref=payment_ref,
        amount=amount,
        by=by,
        reason=reason,
        try_at=clock.now(),
        **more,
    )


def due(account: int, limit: int) -> Iterable[Refund]:
    """The refunds of this account that the provider has to be told of, oldest first."""
    rows = Refund.objects.filter(payment__account=account, try_at__lte=clock.now())
    return rows.select_related("payment__account", "payment__agent").order_by("try_at")[:limit]


def claim(refund: Refund) -> bool:
    """Claim the next attempt. One of several workers gets it."""
    return leases.claim(refund, "try_at", tries=refund.tries + 1, try_at=clock.now() + PAYMENTS.lease)


def told(refund: Refund, seen: RefundSeen) -> None:
    """Record that the provider accepted it."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=refund.payment_id)
        _record(payment, Refund.objects.get(pk=refund.pk), seen)


def later(refund: Refund, problem: str, *, another_key: bool = False) -> None:
    """Schedule the next attempt. After the last one the refund has failed."""
    if RETRIES.is_used_up(refund.tries):
        failed(refund, problem)
        return
    # Only while we hold the lease: another key, while somebody tries with this one, would refund twice.
    changed = {"key_number": F("key_number") + 1} if another_key else {}
    leases.held(refund, "try_at").filter(status=Status.ASKED).update(
        try_at=clock.now() + RETRIES.pause(refund.tries), problem=problem[:500], **changed
    )


def failed(refund: Refund, problem: str) -> None:
    """Record that the refund has failed, and tell the agent and the operator."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=refund.payment_id)
        if Refund.objects.filter(pk=refund.pk, status=Status.ASKED).update(
            status=Status.FAILED, try_at=None, problem=problem[:500]
        ):
            refund.refresh_from_db()
            _tell(payment, refund)


def given_up() -> QuerySet[Refund]:
    """The refunds that failed and were not asked for again: somebody waits for that money."""
    again = Refund.objects.filter(payment=OuterRef("payment"), created_at__gt=OuterRef("created_at"))
    return Refund.objects.filter(~Exists(again.exclude(status=Status.FAILED)), status=Status.FAILED)


def sync(payment: Payment, said: Snapshot) -> None:
    """Record the refunds that the provider reports, ours and those of its dashboard. The payment must be locked."""
    for seen in said.refunds:
        known = payment.refunds.filter(ref=seen.ref).first()
        if known is None and seen.our_id:
            known = payment.refunds.filter(pk=seen.our_id).first()
        if known is None:
            ref = said.payment_ref or ""
            known = Refund.objects.create(payment=payment, payment_ref=ref, amount=seen.amount, by=By.PROVIDER)
        _record(payment, known, seen, said)


def _record(payment: Payment, refund: Refund, seen: RefundSeen, said: Snapshot | None = None) -> None:
    """Record the refund's state at the provider, and report each change once. The payment must be locked."""
    status = SEEN[seen.state]
    known = refund.status == status
    older = refund.ref == seen.ref and _ORDER.index(refund.status) > _ORDER.index(status)
    if known or older:  # two workers may apply their answers in the wrong order
        return
    back = refund.status == Status.DONE  # the refund has failed after it was done
    refund.status, refund.ref, refund.try_at, refund.problem = status, seen.ref, None, ""
    refund.done_at = clock.now() if status == Status.DONE else None
    refund.save()
    done = payment.refunds.filter(status=Status.DONE, payment_ref=payment.payment_ref)
    payment.refunded = done.aggregate(sum=Sum("amount"))["sum"] or 0
    payment.save(update_fields=["refunded"])
    if status in (Status.DONE, Status.FAILED):
        _tell(payment, refund)
    if _all_is_back(payment, said):
        entitlements.revoke(payment)
    elif back and not payment.problem:
        entitlements.give_again(payment)


def _all_is_back(payment: Payment, said: Snapshot | None) -> bool:
    """Of a subscription, what the provider reports is of its latest paid period: what went back of others is over."""
    if payment.mode != "subscribe" or said is None or said.payment_ref != payment.payment_ref:
        return 0 < payment.amount <= payment.refunded
    paid = next((one.amount for one in reversed(said.invoices) if one.state == "paid" and one.amount), payment.amount)
    return 0 < paid <= sum(one.amount for one in said.refunds if one.state == "done")


def _tell(payment: Payment, refund: Refund) -> None:
    refund.payment = payment
    if refund.status == Status.FAILED:
        log.error("refund %s of payment %s failed: %s", refund.pk, payment.pk, refund.problem or "at the provider")
    kind = "payment.refunded" if refund.status == Status.DONE else "payment.refund_failed"
    events.publish(payment.agent, kind, {"payment": payment.summary(), "refund": refund.summary()}, payment.elicitation)
