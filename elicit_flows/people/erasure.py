"""Erases a person's data at their request: connections and subscriptions end at once, rows are deleted an hour later.

The request is one row, which the worker works on until nothing is left. Each round does what is possible by then, and
may be interrupted and repeated. Agents are told what ended before it is deleted.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.apps import apps
from django.db import transaction
from django.db.models import Q, QuerySet

from elicit_flows import vault
from elicit_flows.domain.errors import AlreadyOver
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations.outcomes import cancel
from elicit_flows.events import wakeups
from elicit_flows.job_table import EXPIRE
from elicit_flows.lib import clock
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Elicitation, Erasure, Event, Payment, SignOut
from elicit_flows.models.elicitation import UNFINISHED
from elicit_flows.payments import cancellations, checkouts, customers, queries
from elicit_flows.people import contacts, local_accounts
from elicit_flows.people.sessions import end_sessions

log = logging.getLogger(__name__)
GRACE = timedelta(hours=1)  # for agents that poll, to see how their questions ended
EVERY = timedelta(minutes=10)
# The members of an event that are about the person, and their values after the erasure.
BLANK: Json = {
    "message": "", "params": {}, "result": None, "error": None, "metadata": {}, "return_url": None, "draft": None,
    "locale": None, "account": None, "label": "", "scopes": [], "variables": {},
}  # fmt: skip


def request_erasure(claim: Claim) -> None:
    """Record the request, end every session, and revoke all connections.

    Asked for again while it is under way, it also covers what was added since.
    """
    now = clock.now()
    with transaction.atomic():
        erasure, _ = Erasure.objects.update_or_create(
            iss=claim.iss, sub=claim.sub, done_at=None, defaults={"asked_at": now, "next_at": now}
        )
        end_sessions(claim)
        transaction.on_commit(lambda: wakeups.wake_workers(EXPIRE))
    # What is being answered at this moment is kept no more, or has just been kept: that belongs to it, too.
    _call_off(erasure)
    erasure.asked_at = clock.now()
    Erasure.objects.filter(pk=erasure.pk, done_at=None).update(asked_at=erasure.asked_at)
    _revoke(erasure)


def is_known(claim: Claim) -> bool:
    """Whether a row names the person, apart from those that an erasure itself leaves."""
    models = apps.get_app_config(Erasure._meta.app_label).get_models()
    named = [model for model in models if {"iss", "sub"} <= {field.name for field in model._meta.concrete_fields}]
    left = (Erasure, SignOut)
    rows = [model._default_manager.filter(iss=claim.iss, sub=claim.sub) for model in named if model not in left]
    return local_accounts.of(claim) is not None or any(some.exists() for some in rows)


def erasure_pending(claim: Claim) -> Erasure | None:
    """The erasure that is under way."""
    return Erasure.objects.filter(iss=claim.iss, sub=claim.sub, done_at=None).first()


_DUE = CompiledQuery(
    lambda now: Erasure.objects.filter(next_at__lte=now).order_by("next_at")[:10], clock.now(), prepare=False
)


def sweep_erasures() -> int:
    """Continue the erasures that are due. Returns how many. Run by the worker."""
    return sum(map(_go_on, _DUE.all(clock.now())))


def _go_on(erasure: Erasure) -> bool:
    now = clock.now()
    next_at = max(now + EVERY, erasure.asked_at + GRACE)
    if not Erasure.objects.filter(pk=erasure.pk, next_at=erasure.next_at).update(next_at=next_at):
        return False
    _revoke(erasure)
    _call_off(erasure)
    before = now - GRACE
    # Events that an agent has yet to receive are kept until then.
    ready = _events(erasure).filter(created_at__lte=before).exclude(delivery__status="pending")
    for event in ready.only("data"):
        Event.objects.filter(pk=event.pk).update(data=_blanked(event.data, erasure))
    # Delete them with answers, drafts and steps. Not while a payment page is open, a grant has to be revoked, or an
    # agent has to be told.
    rows = _of(erasure).filter(finished_at__lte=before).exclude(event__delivery__status="pending")
    for whose in ("", "steps__"):
        rows = rows.exclude(**{f"{whose}payment__checkouts__status__in": checkouts.PAYABLE})
        rows = rows.exclude(**{f"{whose}pendinggrant__isnull": False})
    rows.delete()
    money_left = customers.rename(erasure.claim, erasure.pk, erasure.asked_at)
    contacts.forget(erasure.claim, erasure.asked_at)
    account = local_accounts.of(erasure.claim)
    if account and account.created_at <= erasure.asked_at:
        local_accounts.delete(account, erasure.pk)
    left = vault.forget(erasure.claim, until=erasure.asked_at, ended_before=before)
    if not (left or money_left or _of(erasure).exists() or _events(erasure).exists()):
        log.info("erasure %s is done", erasure.pk)
        Erasure.objects.filter(pk=erasure.pk).update(iss="", sub="", next_at=None, done_at=now)
    return True


def _of(erasure: Erasure) -> QuerySet[Elicitation]:
    """The elicitations from before the request. A person who comes back starts with a clean record."""
    return Elicitation.objects.filter(iss=erasure.iss, sub=erasure.sub, created_at__lte=erasure.asked_at, parent=None)


def _call_off(erasure: Erasure) -> None:
    for row in _of(erasure).filter(UNFINISHED).select_related("agent"):
        try:
            cancel(row)
        except AlreadyOver:
            log.info("elicitation %s ended before the erasure could cancel it", row.pk)


def _revoke(erasure: Erasure) -> None:
    """Revoke connections and saved payment methods, and end subscriptions, because later nobody could tell whose they
    are.
    """
    for row in vault.held_by(erasure.claim).filter(created_at__lte=erasure.asked_at):
        vault.revoke(row, vault.ConnectionUse.Actor.PERSON)
    saved = queries.made_by(erasure.claim).filter(status=Payment.Status.SAVED, created_at__lte=erasure.asked_at)
    for payment in saved:
        cancellations.ask(payment)
    going = queries.made_by(erasure.claim).filter(status=Payment.Status.ACTIVE, created_at__lte=erasure.asked_at)
    for payment in going:
        cancellations.ask(payment, at_once=True)


def _events(erasure: Erasure) -> QuerySet[Event]:
    """All events that name the person, except those of elicitations that they began after the request."""
    named = Q(data__subject__iss=erasure.iss, data__subject__sub=erasure.sub)
    allowed = Q(data__mandate__subject__iss=erasure.iss, data__mandate__subject__sub=erasure.sub)
    paid = Q(data__payment__subject__iss=erasure.iss, data__payment__subject__sub=erasure.sub)
    authorized = Q(data__authorization__subject__iss=erasure.iss, data__authorization__subject__sub=erasure.sub)
    asked_at = clock.rfc3339(erasure.asked_at)
    named &= Q(data__created_at__lte=asked_at) | Q(type="payment.over_limit", created_at__lte=erasure.asked_at)
    allowed &= Q(data__mandate__created_at__lte=asked_at)
    going = Q(data__subscription__subject__iss=erasure.iss, data__subscription__subject__sub=erasure.sub)
    going &= Q(data__subscription__created_at__lte=asked_at)
    allowed |= authorized & Q(data__authorization__created_at__lte=asked_at)
    return Event.objects.filter(named | allowed | going | (paid & Q(data__payment__created_at__lte=asked_at)))


def _blanked(data: Json, erasure: Erasure) -> Json:
    nobody = {"subject": {"iss": "", "sub": erasure.pk}}
    names = ("payment", "mandate", "subscription", "authorization")
    things = {name: data[name] for name in names if isinstance(data.get(name), dict)}
    if things:
        # The address of a resource can say who it was for.
        without = {"url": ""} if "authorization" in things else {}
        return {**data, **{name: {**thing, **nobody, **without} for name, thing in things.items()}}
    return {**data, **{name: empty for name, empty in BLANK.items() if name in data}, **nobody}
