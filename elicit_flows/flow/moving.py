"""What every step shares: finding the row, whose it is, and the one writer of a status."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from elicit_flows import kinds, queue, vault
from elicit_flows.errors import Forbidden, NotFound, Over, StartAgain, WrongUser
from elicit_flows.kinds.credentials.config import CredentialsProvider
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock, tally, tracing
from elicit_flows.models import Elicitation, Event, PaymentAccount, Provider
from elicit_flows.states import OPEN, TERMINAL, Status, sources
from elicit_flows.values import Claim, Json, Visit

log = logging.getLogger(__name__)

STEPS = "steps"  # stands for a kind where an elicitation has several, one after the other
REFUSALS_TOLD = 5  # per elicitation: a stranger must not fill the agent's feed


def move(row: Elicitation, to: Status, only: list[Status] | None = None, **fields: Any) -> bool:
    """The only writer of a status: compare-and-set, then the event. False when somebody else was first."""
    if to in TERMINAL:
        fields["finished_at"] = clock.now()
    allowed = [status for status in sources(to) if only is None or status in only]
    changed = Elicitation.objects.filter(pk=row.pk, status__in=allowed).update(status=to, seq=F("seq") + 1, **fields)
    row.refresh_from_db(fields=["status", "seq", "result", "error", "settling_since", "finished_at"])
    if changed and row.parent_id:
        _follow(row)
    elif changed:
        queue.publish(row.agent, f"elicitation.{to}", row.snapshot(), row)
        _count(row)
    return changed == 1


def _count(row: Elicitation) -> None:
    """How it ended, and in what time; its steps are not counted beside it."""
    if row.finished_at:
        took = (row.finished_at - row.created_at).total_seconds()
        labels = (row.kind, str(row.status), (row.error or {}).get("code", ""), tally.bucket(took))
        transaction.on_commit(partial(tally.count, "elicitations", *labels, seconds=took))


def current(row: Elicitation) -> Elicitation:
    """What is to be done next of an elicitation with steps, or was left undone when it ended; else the row itself."""
    if row.kind != STEPS:
        return row
    left = row.steps.exclude(status=Status.COMPLETED).order_by("place").select_related("agent", "parent").first()
    return left or row


def _follow(step: Elicitation) -> None:
    """The whole goes where its current step went. Only the whole is told to the agent."""
    whole = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=step.parent_id)
    done = list(whole.steps.filter(status=Status.COMPLETED).order_by("place"))
    following = current(whole)
    result = {"steps": [{"kind": one.kind, "result": one.result} for one in done]}
    if following is whole:
        move(whole, Status.SETTLING, only=[Status.STARTED])
        move(whole, Status.COMPLETED, only=[Status.SETTLING], result=result)
    elif following.over:
        move(whole, Status(following.status), result=result, error=following.error)
    elif step.status == Status.COMPLETED:
        _go_on(whole, result)
    elif following.pk == step.pk and step.status == Status.SETTLING:
        move(whole, Status.SETTLING, only=[Status.STARTED], settling_since=step.settling_since)
    elif following.pk == step.pk:
        move(whole, Status.STARTED, only=[Status.PENDING, Status.SETTLING])


def _go_on(whole: Elicitation, result: Json) -> None:
    """A step was done and there are more: told as another start, with what is done so far."""
    open_now = Elicitation.objects.filter(pk=whole.pk, status__in=OPEN)
    if open_now.update(status=Status.STARTED, seq=F("seq") + 1, result=result, settling_since=None):
        whole.refresh_from_db(fields=["status", "seq", "result", "settling_since"])
        queue.publish(whole.agent, "elicitation.started", whole.snapshot(), whole)


def find(elicitation_id: str) -> Elicitation:
    """By the id in the link. Raises NotFound."""
    row = Elicitation.objects.select_related("agent").filter(pk=elicitation_id).first()
    if row is None:
        raise NotFound("There is no such link. Check that it is complete, or ask for a new one.")
    return row


def mine(elicitation_id: str, claim: Claim) -> Elicitation:
    """The elicitation that this person may still act on. A stranger's try is told to the agent."""
    row = find(elicitation_id)
    if row.claim != claim:
        refuse(row, "button")
        raise WrongUser(elicitation=row.pk)
    check_agent(row)
    if row.kind == STEPS:
        raise StartAgain("Each step has its own page.", elicitation=row.pk)
    if row.over or row.overdue or row.head.over:
        raise Over(elicitation=row.pk)
    if row.parent and current(row.parent).pk != row.pk:
        raise StartAgain("Another step comes first.", elicitation=row.parent_id)
    return row


def traced(what: str, row: Elicitation) -> AbstractContextManager[tracing.Quiet]:
    """What is done for it belongs to the trace in which it was asked for."""
    return tracing.span(f"elicit.{what}", row.head.trace, elicit_elicitation=row.head.pk)


def check_agent(row: Elicitation) -> None:
    """Nobody grants anything to an agent that was switched off meanwhile."""
    if not row.agent.enabled:
        raise Forbidden("The agent that asks was switched off by those who run this service.", elicitation=row.pk)


def refuse(row: Elicitation, where: str) -> None:
    """Somebody who is signed in as another person tried to act."""
    log.warning("elicitation %s: the wrong person was refused at the %s", row.pk, where)
    row = row.head
    with transaction.atomic():
        if Event.objects.filter(elicitation=row, type="elicitation.refused").count() < REFUSALS_TOLD:
            Elicitation.objects.filter(pk=row.pk).update(seq=F("seq") + 1)
            row.refresh_from_db(fields=["status", "seq"])
            queue.publish(row.agent, "elicitation.refused", row.snapshot(), row)


def context_of(row: Elicitation) -> str:
    """The operator's plug-in that it goes through, or the kind itself: what its callback address ends with."""
    key = kinds.get(row.kind).context
    return (row.params.get(key) if key else None) or row.kind


def provider_of(row: Elicitation) -> Provider | None:
    """The provider that it goes through, if any, unless that was switched off meanwhile."""
    slug = row.params.get("provider") if kinds.get(row.kind).context == "provider" else None
    return Provider.objects.filter(slug=slug, sort=row.kind, enabled=True).first() if slug else None


def config_of(row: Elicitation) -> OAuthProvider | CredentialsProvider | Account | None:
    """The operator's configuration of what it goes through; None when that was switched off meanwhile."""
    if kinds.get(row.kind).takes_money:
        account = PaymentAccount.objects.filter(slug=context_of(row), enabled=True).first()
        return vault.account(account) if account else None
    provider = provider_of(row)
    if provider is None:
        return None
    if provider.sort == Provider.Sort.CREDENTIALS:
        return vault.credentials_provider(provider)
    return vault.oauth(provider)


def forget_client(row: Elicitation) -> None:
    """The provider does not know us any more as who it registered us."""
    provider = provider_of(row)
    if provider:
        vault.forget_registration(provider, vault.oauth(provider).client_id)


def redirect_uri(row: Elicitation) -> str:
    return f"{settings.ELICIT_PUBLIC_URL}/callback/{context_of(row)}"


def _account_of(row: Elicitation) -> str | None:
    meant = vault.reconnecting(row)
    return meant.account_id or None if meant else None


def visit_of(row: Elicitation, state: str = "", stash: Json | None = None) -> Visit:
    return Visit(
        elicitation=row.pk,
        claim=row.claim,
        params=row.params,
        config=config_of(row),
        redirect_uri=redirect_uri(row),
        state=state,
        stash=stash or {},
        account=_account_of(row),
    )
