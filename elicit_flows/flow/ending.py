"""finish and complete, and the ways off the line: decline, cancel, expire."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import IntegrityError, transaction

from elicit_flows import kinds, vault
from elicit_flows.errors import AlreadyOver, ClientUnknown, Conflict, Invalid, Over, StartAgain
from elicit_flows.flow import choosing, drafting, paying
from elicit_flows.flow.moving import STEPS, context_of, current, forget_client, mine, move, provider_of
from elicit_flows.ledger import checkouts
from elicit_flows.lib import clock, tally
from elicit_flows.models import Elicitation, Provider
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.states import TERMINAL, Status
from elicit_flows.values import Again, Claim, Finish

log = logging.getLogger(__name__)

SETTLING_LIFE = timedelta(minutes=2)  # beyond every deadline of a code exchange: whoever was at it is gone


def finish(row: Elicitation, outcome: Finish | Again) -> None:
    """Write the outcome and what came with it, all or nothing. Raises StartAgain when nothing was concluded, or Invalid
    where the person can put it right on our page. Nothing is written yet where they have to choose first.
    """
    if isinstance(outcome, Again) and outcome.code == ClientUnknown.code:
        forget_client(row)
    if isinstance(outcome, Again):
        _reopen(row)
        if outcome.code == "provider_unavailable":
            tally.count("provider_errors", context_of(row), "return")
        if outcome.field:
            raise Invalid.at(outcome.field, outcome.reason)
        raise StartAgain(outcome.reason, elicitation=row.pk)
    provider = provider_of(row)
    if outcome.credentials and row.params.get("provider") and provider is None:
        _reopen(row)
        raise StartAgain("This provider has just been switched off.", elicitation=row.pk)
    if outcome.grant and provider and choosing.hold_back(row, outcome.grant):
        return
    try:
        kept = _record(row, outcome, provider)
    except IntegrityError:  # another elicitation has just kept the same account: now it is there to be updated
        kept = _record(row, outcome, provider)
    if outcome.grant and provider and not kept and not outcome.credentials:
        log.info("elicitation %s was over before the grant came: it is given back", row.pk)
        vault.drop(provider, outcome.grant)


def _record(row: Elicitation, outcome: Finish, provider: Provider | None) -> bool:
    with transaction.atomic():
        result = outcome.result
        if outcome.credentials:
            label = kinds.get(row.kind).describe(row.params, None)["title"]
            kept = vault.keep_credentials(row.agent, row.claim, provider, label, outcome.credentials, outcome.grant)
            result = vault.result(kept)
        elif outcome.grant and provider:
            result = vault.result(vault.keep(row.agent, row.claim, provider, outcome.grant))
        moved = move(row, Status(outcome.status), only=[Status.SETTLING], result=result, error=outcome.error)
        transaction.set_rollback(not moved)
    return moved


def decline(elicitation_id: str, claim: Claim) -> Elicitation:
    """The right user says no. Raises NotFound, WrongUser, Over."""
    row = mine(elicitation_id, claim)
    with transaction.atomic():
        paying.hold(row)
        if not move(row, Status.DECLINED):
            raise Over(elicitation=row.pk)
        paying.drop(row)
    return row


def cancel(whole: Elicitation) -> Elicitation:
    """The agent takes the question back. Raises AlreadyOver when it ended otherwise."""
    row = current(whole)
    while row.kind != STEPS and not _call_off(row):
        following = current(whole)  # a step that was done just now has another behind it
        if following.pk == row.pk:
            break
        row = following
    whole.refresh_from_db()
    if whole.status != Status.CANCELLED:
        raise AlreadyOver(f"The elicitation is {whole.status} already.")
    return whole


def _call_off(row: Elicitation) -> bool:
    with transaction.atomic():
        paying.hold(row)
        called_off = move(row, Status.CANCELLED)
        if called_off:
            paying.drop(row)
    return called_off


def complete(whole: Elicitation) -> Elicitation:
    """The agent says that the user has done what the link was for, or sends a form's draft as it is.

    Raises Conflict, NotSubmitted, AlreadyOver.
    """
    row = current(whole)
    if row.kind == "form":
        drafting.accept(row)
    else:
        _complete_link(row)
    whole.refresh_from_db()
    return whole


def _complete_link(row: Elicitation) -> None:
    if row.params.get("completion") != "by_agent":
        raise Conflict(f"This elicitation of kind {row.kind} is completed by its user, not by its agent.")
    with transaction.atomic():
        move(row, Status.STARTED, only=[Status.PENDING])
        move(row, Status.SETTLING, only=[Status.STARTED])
        if not move(row, Status.COMPLETED, only=[Status.SETTLING], result={}) and row.status != Status.COMPLETED:
            raise AlreadyOver(f"The elicitation is {row.status} already.")


def expire(row: Elicitation) -> bool:
    """Enforce the end of its time, if it has come; whether that was now.

    Where money may still come, the provider must close its page first, which is the sweep's to ask.
    """
    whole, row = row, current(row)
    if not row.overdue or checkouts.awaited(row):
        return False
    with transaction.atomic():
        paying.hold(row)
        expired = move(row, Status.EXPIRED, only=[Status.PENDING, Status.STARTED])
        if expired:
            paying.drop(row)
    whole.refresh_from_db(fields=["status", "seq", "result", "finished_at"])
    return expired


def sweep(limit: int = 100) -> int:
    """Expire what is overdue, reopen what somebody left while settling, and call off the steps that nobody will come
    to; how many were moved. Run by the worker.
    """
    now = clock.now()
    # An elicitation with steps follows them.
    open_rows = Elicitation.objects.select_related("agent").filter(UNFINISHED).exclude(kind=STEPS)
    overdue = open_rows.filter(expires_at__lte=now).exclude(status=Status.SETTLING)
    overdue = overdue.exclude(payment__checkouts__status__in=checkouts.PAYABLE)[:limit]
    stuck = open_rows.filter(status=Status.SETTLING, settling_since__lte=now - SETTLING_LIFE)[:limit]
    moot = open_rows.filter(parent__isnull=False, parent__status__in=TERMINAL)[:limit]
    return sum(map(expire, overdue)) + sum(map(_reopen, stuck)) + sum(map(_call_off, moot))


def _reopen(row: Elicitation) -> bool:
    """Nothing was concluded: the person may press again."""
    with transaction.atomic():
        return move(row, Status.STARTED, only=[Status.SETTLING], settling_since=None)
