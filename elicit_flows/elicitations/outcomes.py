"""How an elicitation ends: complete, decline, cancel, expire; and consume, which claims the result once."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.domain.errors import (
    AlreadyConsumed,
    AlreadyOver,
    Conflict,
    Invalid,
    NotOver,
    Over,
)
from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations import form_drafts, payment
from elicit_flows.elicitations.transitions import (
    STEPS,
    current_step,
    find_for,
    move,
)
from elicit_flows.lib import clock
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Elicitation
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.payments import checkouts

SWEPT = 100  # elicitations at a time
SETTLING_LIFE = timedelta(minutes=2)  # longer than any code exchange, so its process has died


def decline(elicitation_id: str, claim: Claim) -> Elicitation:
    """The right user says no. Raises NotFound, WrongUser, Over."""
    row = find_for(elicitation_id, claim)
    with transaction.atomic():
        payment.lock_payment(row)
        if not move(row, Status.DECLINED, only=payment.ends_from(row)):
            raise Over(elicitation=row.pk)
        payment.close_checkouts(row)
    return row


def cancel(whole: Elicitation) -> Elicitation:
    """Cancel the elicitation for the agent. Raises AlreadyOver if it has ended in another way."""
    row = current_step(whole)
    while row.kind != STEPS and not _call_off(row):
        following = current_step(whole)  # the step may have just been completed, and another follows
        if following.pk == row.pk:
            break
        row = following
    whole.refresh_from_db()
    if whole.status != Status.CANCELLED:
        raise AlreadyOver(f"The elicitation is {whole.status} already.")
    return whole


def _call_off(row: Elicitation) -> bool:
    with transaction.atomic():
        payment.lock_payment(row)
        called_off = move(row, Status.CANCELLED, only=payment.ends_from(row))
        if called_off:
            payment.close_checkouts(row)
    return called_off


def complete(whole: Elicitation, answers: Json | None = None) -> Elicitation:
    """Complete the elicitation for the agent, because the user has done what the link was for. For a form, ``answers``
    by question are added to what was submitted in a shared draft.

    Raises Invalid, Conflict, NotSubmitted, AlreadyOver.
    """
    row = current_step(whole)
    if row.kind == STEPS:  # there is no step left
        raise AlreadyOver(f"The elicitation is {Status.COMPLETED} already.")
    if row.kind == "form":
        form_drafts.accept(row, answers or {})
    elif answers:
        raise Invalid.at("answers", "Only an elicitation of kind form takes these answers.")
    else:
        if row.params.get("completion") != "by_agent":
            raise Conflict(f"This elicitation of kind {row.kind} is completed by its user, not by its agent.")
        with transaction.atomic():
            move(row, Status.STARTED, only=[Status.PENDING])
            move(row, Status.SETTLING, only=[Status.STARTED])
            if not move(row, Status.COMPLETED, only=[Status.SETTLING], result={}) and row.status != Status.COMPLETED:
                raise AlreadyOver(f"The elicitation is {row.status} already.")
    whole.refresh_from_db()
    return whole


def expire(row: Elicitation) -> bool:
    """Expire the elicitation if it is overdue. Returns whether this call has expired it.

    If a payment may still come, the provider has to close its page first. The sweep asks it to.
    """
    whole, row = row, current_step(row)
    if not row.overdue or checkouts.awaited(row):
        return False
    with transaction.atomic():
        payment.lock_payment(row)
        expired = move(row, Status.EXPIRED, only=[Status.PENDING, Status.STARTED])
        if expired:
            payment.close_checkouts(row)
    whole.refresh_from_db(fields=["status", "seq", "result", "finished_at"])
    return expired


def sweep() -> int:
    """Expire what is overdue, reopen what was abandoned while settling, and cancel the steps that nobody will reach.
    Returns how many changed their status. Run by the worker.
    """
    now = clock.now()
    # One after the other: what expires may leave steps that nobody will reach.
    changed = sum(map(expire, _OVERDUE.all(now)))
    changed += sum(map(reopen, _STUCK.all(now - SETTLING_LIFE)))
    return changed + sum(map(_call_off, _MOOT.all()))


def _open_rows() -> QuerySet[Elicitation]:
    """Without those that have steps: such a one gets the status of its current step."""
    return Elicitation.objects.select_related("agent").filter(UNFINISHED).exclude(kind=STEPS)


# Each is asked every few seconds, and usually finds nothing.
_OVERDUE = CompiledQuery(
    lambda now: (
        _open_rows()
        .filter(expires_at__lte=now)
        .exclude(status=Status.SETTLING)
        .exclude(payment__checkouts__status__in=checkouts.PAYABLE)
        .order_by("expires_at")[:SWEPT]
    ),
    clock.now(),
    prepare=False,
)
_STUCK = CompiledQuery(
    lambda since: (
        _open_rows().filter(status=Status.SETTLING, settling_since__lte=since).order_by("settling_since")[:SWEPT]
    ),
    clock.now(),
    prepare=False,
)
_MOOT = CompiledQuery(
    lambda: _open_rows().filter(parent__isnull=False, parent__status__in=TERMINAL).order_by("parent_id")[:SWEPT],
    prepare=False,
)


def reopen(row: Elicitation) -> bool:
    """Return to STARTED, because there is no outcome: the person may press the button again."""
    with transaction.atomic():
        return move(row, Status.STARTED, only=[Status.SETTLING], settling_since=None)


def consume(row: Elicitation, key: str | None = None) -> tuple[Elicitation, bool]:
    """Claim the result, once. Returns the elicitation, and whether a call with the same ``key`` has consumed it before.

    Its Idempotency-Key can be used again afterwards: the next create with it asks the person again. Raises NotOver,
    AlreadyConsumed.
    """
    with transaction.atomic():
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if not locked.over:
            raise NotOver(f"The elicitation is {locked.status}: there is nothing to act on yet.")
        if locked.consumed_at is None:
            locked.consumed_at, locked.consumed_by, locked.idempotency_key = clock.now(), key, None
            locked.save(update_fields=["consumed_at", "consumed_by", "idempotency_key"])
            return locked, False
    if key is None or locked.consumed_by != key:
        raise AlreadyConsumed("The result of this elicitation was consumed already: do not act on it again.")
    return locked, True
