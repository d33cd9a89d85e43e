"""Everything about a person goes, because they want it: at once from their agents, an hour later from here.

Asked for in one row, and taken up by the worker until nothing is left: each round does what can be done by then, and
may be cut off and done again. Agents hear of what ended before it goes.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from elicit_flows import members, vault
from elicit_flows.errors import AlreadyOver
from elicit_flows.flow.ending import cancel
from elicit_flows.flow.sessions import end_sessions
from elicit_flows.ledger import checkouts, forgetting
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Erasure, Event
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.queue import bell
from elicit_flows.values import Claim, Json

log = logging.getLogger(__name__)
GRACE = timedelta(hours=1)  # for agents that poll to hear how it ended
EVERY = timedelta(minutes=10)
# What an event says of a person, and what it says when they are gone.
BLANK: Json = {
    "message": "", "params": {}, "result": None, "error": None, "metadata": {}, "return_url": None, "draft": None,
    "account": None, "scopes": [],
}  # fmt: skip


def ask_to_erase(claim: Claim) -> None:
    """Written down first; then everybody who has something of this person loses it, and every session ends. Asked for
    again while it is under way, it reaches what has come since.
    """
    now = clock.now()
    with transaction.atomic():
        erasure, _ = Erasure.objects.update_or_create(
            iss=claim.iss, sub=claim.sub, done_at=None, defaults={"asked_at": now, "next_at": now}
        )
        end_sessions(claim)
        transaction.on_commit(lambda: bell.ring_workers(bell.Work.SWEEP))
    _revoke(erasure)


def erasing(claim: Claim) -> Erasure | None:
    """The erasure that is under way."""
    return Erasure.objects.filter(iss=claim.iss, sub=claim.sub, done_at=None).first()


def sweep_erasures(limit: int = 10) -> int:
    """Go on with those that are due; how many were. Run by the worker."""
    due = Erasure.objects.filter(next_at__lte=clock.now()).order_by("next_at")[:limit]
    return sum(_go_on(row) for row in due)


def _go_on(erasure: Erasure) -> bool:
    now = clock.now()
    next_at = max(now + EVERY, erasure.asked_at + GRACE)
    if not Erasure.objects.filter(pk=erasure.pk, next_at=erasure.next_at).update(next_at=next_at):
        return False
    _revoke(erasure)
    _cancel(erasure)
    before = now - GRACE
    _blank_events(erasure, before)
    _delete_elicitations(erasure, before)
    forgetting.rename(erasure.claim, erasure.pk)
    account = members.of(erasure.claim)
    if account and account.created_at <= erasure.asked_at:
        account.delete()
    left = vault.forget(erasure.claim, until=erasure.asked_at, ended_before=before)
    if not (left or _of(erasure).exists() or _events(erasure).exists()):
        log.info("erasure %s is done", erasure.pk)
        Erasure.objects.filter(pk=erasure.pk).update(iss="", sub="", next_at=None, done_at=now)
    return True


def _of(erasure: Erasure) -> QuerySet[Elicitation]:
    """What there was when it was asked for. Who comes back begins anew."""
    return Elicitation.objects.filter(iss=erasure.iss, sub=erasure.sub, created_at__lte=erasure.asked_at, parent=None)


def _revoke(erasure: Erasure) -> None:
    for row in vault.held_by(erasure.claim).filter(created_at__lte=erasure.asked_at):
        vault.revoke(row, vault.Use.Actor.PERSON)


def _cancel(erasure: Erasure) -> None:
    for row in _of(erasure).filter(UNFINISHED).select_related("agent"):
        try:
            cancel(row)
        except AlreadyOver:
            log.info("elicitation %s ended before the erasure could cancel it", row.pk)


def _delete_elicitations(erasure: Erasure, before: datetime) -> None:
    """With answers, drafts and steps. Not while a provider's page can still be paid or a grant has yet to be given
    back, or an agent has yet to be told.
    """
    rows = _of(erasure).filter(finished_at__lte=before).exclude(event__delivery__status="pending")
    for whose in ("", "steps__"):
        rows = rows.exclude(**{f"{whose}payment__checkouts__status__in": checkouts.PAYABLE})
        rows = rows.exclude(**{f"{whose}heldgrant__isnull": False})
    rows.delete()


def _blank_events(erasure: Erasure, before: datetime) -> None:
    """Agents that are still to be told of one are told first."""
    ready = _events(erasure).filter(created_at__lte=before).exclude(delivery__status="pending")
    for event in ready.only("data"):
        Event.objects.filter(pk=event.pk).update(data=_blanked(event.data, erasure))


def _events(erasure: Erasure) -> QuerySet[Event]:
    """All that name the person, but for those of what they began after they had asked for it."""
    named = Q(data__subject__iss=erasure.iss, data__subject__sub=erasure.sub)
    paid = Q(data__payment__subject__iss=erasure.iss, data__payment__subject__sub=erasure.sub)
    asked_at = clock.rfc3339(erasure.asked_at)
    named &= Q(data__created_at__lte=asked_at) | Q(type="payment.over_limit", created_at__lte=erasure.asked_at)
    return Event.objects.filter(named | (paid & Q(data__payment__created_at__lte=asked_at)))


def _blanked(data: Json, erasure: Erasure) -> Json:
    nobody = {"subject": {"iss": "", "sub": erasure.pk}}
    if "payment" in data:
        return {**data, "payment": {**data["payment"], **nobody}}
    return {**data, **{name: empty for name, empty in BLANK.items() if name in data}, **nobody}
