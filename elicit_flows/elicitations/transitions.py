"""The only writer of a status (compare-and-set plus event), and helpers that all stages share."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from elicit_flows import events, kinds, vault
from elicit_flows.domain.errors import Forbidden, NotFound, Over, StartAgain, WrongUser
from elicit_flows.domain.status import OPEN, TERMINAL, Status, sources
from elicit_flows.domain.values import Claim, Json, Visit
from elicit_flows.kinds.credentials.config import CredentialsProvider
from elicit_flows.kinds.form import params
from elicit_flows.kinds.oauth.provider import OAuthProvider
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock, counters, health, telemetry
from elicit_flows.lib.compiled_query import CompiledQuery, CompiledUpdate, compare_and_set
from elicit_flows.models import Attempt, Elicitation, Event, PaymentAccount, Provider

log = logging.getLogger(__name__)

STEPS = "steps"  # stands for a kind where an elicitation has several, one after the other
CHANGING = ("status", "seq", "result", "error", "settling_since", "finished_at")  # columns that a move may change
TOLD = (*CHANGING, "message", "params")  # those of an event that anything may change: a form may be asked anew
REFUSALS_TOLD = 5  # per elicitation: a stranger must not fill the agent's feed


def move(
    row: Elicitation, to: Status, only: list[Status] | None = None, *, uses_up: Attempt | None = None, **fields: Any
) -> bool:
    """Change the status by compare-and-set, and publish the event. False if the row has no status that allows it.

    ``only``: the statuses that it may have now; by default all that may lead to ``to``. ``fields``: other columns to
    set. ``uses_up``: an attempt that is marked as used with the change; also False if it was used before. Call it in a
    transaction if there is anything else to write. No other function writes a status.
    """
    if to in TERMINAL:
        fields["finished_at"] = clock.now()
    allowed = [status for status in sources(to) if only is None or status in only]
    change = _move_step if row.parent_id else _move_whole
    changed = change(row, allowed, {"status": to, **fields}, uses_up)
    if changed and row.kind == "form" and to in TERMINAL:
        _forget_unsent(row)
    return changed


def _move_whole(row: Elicitation, allowed: list[Status], changes: Json, uses_up: Attempt | None) -> bool:
    """The event contains all of the elicitation. So only the row that was read is changed, by its ``seq``; if it was
    changed meanwhile, it is read again.
    """
    while True:
        read = row.seq
        change = {**changes, "seq": read + 1}
        updates = [CompiledUpdate.of(row, {"status": allowed, "seq": read}, change)]
        if uses_up:
            updates.append(CompiledUpdate.of(uses_up, {"used_at": None}, {"used_at": clock.now()}))
        for name, value in change.items():
            setattr(row, name, value)
        if events.publish_changed(f"elicitation.{row.status}", row, *updates):
            break
        row.refresh_from_db(fields=TOLD)
        if row.status not in allowed or row.seq == read:
            return False
    # Count the outcome and the duration. Steps are not counted separately.
    if row.finished_at:
        took = (row.finished_at - row.created_at).total_seconds()
        labels = (row.kind, str(row.status), (row.error or {}).get("code", ""), counters.bucket(took))
        transaction.on_commit(partial(counters.count, "elicitations", *labels, seconds=took))
    return True


def _move_step(row: Elicitation, allowed: list[Status], changes: Json, uses_up: Attempt | None) -> bool:
    with transaction.atomic(savepoint=False):
        changed = uses_up is None or compare_and_set(uses_up, {"used_at": None}, {"used_at": clock.now()})
        only = {"status": allowed}
        changed = changed and compare_and_set(row, only, changes, counter="seq", returned=CHANGING)
        if changed:
            _follow(row)
        else:
            row.refresh_from_db(fields=CHANGING)
    return changed


def _forget_unsent(row: Elicitation) -> None:
    """Delete the draft of a form that has ended; the submitted answers are in the result. A shared draft of a completed
    form stays readable, but the events no longer contain what was written.
    """
    shared = params.is_shared(row.params)
    if not (shared and row.status == Status.COMPLETED):
        row.drafts.all().delete()
    if shared:
        told = Event.objects.filter(elicitation=row.head, type="elicitation.draft")
        told.update(data={**row.head.reference(), "draft": None})


def current_step(row: Elicitation) -> Elicitation:
    """The first step that is not completed; the row itself if it has no steps, or if all are completed."""
    if row.kind != STEPS:
        return row
    left = row.steps.exclude(status=Status.COMPLETED).order_by("place").select_related("agent", "parent").first()
    return left or row


def _follow(step: Elicitation) -> None:
    """Give the whole elicitation the status of its current step. The agent gets events of the whole only."""
    whole = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=step.parent_id)
    done = list(whole.steps.filter(status=Status.COMPLETED).order_by("place"))
    following = current_step(whole)
    result = {"steps": [{"kind": one.kind, "result": one.result} for one in done]}
    if following is whole:
        move(whole, Status.SETTLING, only=[Status.STARTED])
        move(whole, Status.COMPLETED, only=[Status.SETTLING], result=result)
    elif following.over:
        move(whole, Status(following.status), result=result, error=following.error)
    elif step.status == Status.COMPLETED:
        # A step is completed and others follow: this is published as another start, with the results so far.
        open_now = Elicitation.objects.filter(pk=whole.pk, status__in=OPEN)
        if open_now.update(status=Status.STARTED, seq=F("seq") + 1, result=result, settling_since=None):
            whole.refresh_from_db(fields=["status", "seq", "result", "settling_since"])
            events.publish(whole.agent, "elicitation.started", whole.snapshot(), whole)
    elif following.pk == step.pk and step.status == Status.SETTLING:
        move(whole, Status.SETTLING, only=[Status.STARTED], settling_since=step.settling_since)
    elif following.pk == step.pk:
        move(whole, Status.STARTED, only=[Status.PENDING, Status.SETTLING])


_LINK = CompiledQuery(lambda pk: Elicitation.objects.select_related("agent").filter(pk=pk), "el")


def find(elicitation_id: str) -> Elicitation:
    """The elicitation with this id, which is in the link. Raises NotFound."""
    row = _LINK.first(elicitation_id)
    if row is None:
        raise NotFound("The link may be incomplete. Check that you copied all of it, or ask for a new one.")
    return row


def suggested_locale(elicitation_id: str) -> str:
    """The language that the agent suggested for the link; "" if it suggested none, or if there is no such link."""
    found = Elicitation.objects.filter(pk=elicitation_id).values_list("locale", "parent__locale").first()
    return next((one for one in found or () if one), "")


def find_for(elicitation_id: str, claim: Claim) -> Elicitation:
    """The elicitation, if this person may still act on it. An attempt of another person is reported to the agent.

    Raises NotFound, WrongUser, Forbidden, StartAgain, Over.
    """
    row = find(elicitation_id)
    if row.claim != claim:
        refuse(row, "button")
        raise WrongUser(elicitation=row.pk)
    check_agent(row)
    if row.kind == STEPS:
        raise StartAgain("Each step has its own page.", elicitation=row.pk)
    if row.over or row.overdue or row.head.over:
        raise Over(elicitation=row.pk)
    if row.parent and current_step(row.parent).pk != row.pk:
        raise StartAgain("Another step comes first.", elicitation=row.parent_id)
    return row


def traced(what: str, row: Elicitation) -> AbstractContextManager[telemetry.NonRecordingSpan]:
    """A span in the trace of the request that created the elicitation."""
    return telemetry.span(f"elicit.{what}", row.head.trace, elicit_elicitation=row.head.pk)


def check_agent(row: Elicitation) -> None:
    """Raises Forbidden if the agent was switched off meanwhile: nobody may grant anything to it."""
    if not row.agent.enabled:
        raise Forbidden("The agent that asks was switched off by those who run this service.", elicitation=row.pk)


def refuse(row: Elicitation, where: str) -> None:
    """Log that somebody who is signed in as another person tried to act, and report it to the agent."""
    log.warning("elicitation %s: the wrong person was refused at the %s", row.pk, where)
    row = row.head
    with transaction.atomic():
        if Event.objects.filter(elicitation=row, type="elicitation.refused").count() < REFUSALS_TOLD:
            Elicitation.objects.filter(pk=row.pk).update(seq=F("seq") + 1)
            row.refresh_from_db(fields=TOLD)
            events.publish(row.agent, "elicitation.refused", row.snapshot(), row)


def context_of(row: Elicitation) -> str:
    """The slug of the provider or payment account, or else the kind."""
    key = kinds.get(row.kind).context
    return (row.params.get(key) if key else None) or row.kind


def provider_failed(row: Elicitation, step: str) -> None:
    """Record that the provider or payment account did not answer."""
    counters.count("provider_errors", context_of(row), step)
    health.failed("payment" if kinds.get(row.kind).takes_money else "provider", context_of(row), step)


def provider_answered(row: Elicitation) -> None:
    health.succeeded("payment" if kinds.get(row.kind).takes_money else "provider", context_of(row))


_PROVIDER = CompiledQuery(
    lambda slug, sort: Provider.objects.filter(slug=slug, sort=sort, enabled=True), "slug", "sort"
)


def provider_of(row: Elicitation) -> Provider | None:
    """The provider; None if there is none, or if it was switched off meanwhile."""
    slug = row.params.get("provider") if kinds.get(row.kind).context == "provider" else None
    return _PROVIDER.first(slug, row.kind) if slug else None


def config_of(row: Elicitation, provider: Provider | None) -> OAuthProvider | CredentialsProvider | Account | None:
    """The operator's configuration of what it goes through; None when that was switched off meanwhile. ``provider`` is
    the elicitation's, see ``provider_of``.
    """
    if kinds.get(row.kind).takes_money:
        account = PaymentAccount.objects.filter(slug=context_of(row), enabled=True).first()
        return vault.account(account) if account else None
    if provider is None:
        return None
    if provider.sort == Provider.Sort.CREDENTIALS:
        return vault.credentials_provider(provider)
    return vault.oauth(provider)


def forget_client(row: Elicitation) -> None:
    """Delete our registration at the provider, because the provider does not know it any more."""
    provider = provider_of(row)
    if provider:
        vault.forget_registration(provider, vault.client_id(provider))


def callback_name(row: Elicitation, provider: Provider | None) -> str:
    """What the callback address ends with: the slug of the provider, or that of an MCP server's authorization server.

    Each authorization server has its own, so that an answer of another one is not taken for its own (threat T151).
    """
    return (provider and provider.client_slug) or context_of(row)


def redirect_uri(row: Elicitation, provider: Provider | None) -> str:
    return f"{settings.ELICIT_PUBLIC_URL}/callback/{callback_name(row, provider)}"


def visit_of(
    row: Elicitation,
    provider: Provider | None,
    state: str = "",
    stash: Json | None = None,
    language: str | None = None,
    named: Mapping[str, str] | None = None,
) -> Visit:
    """What its kind gets to see. ``provider`` is the elicitation's, see ``provider_of``. ``named``: what the person
    says of its addresses, when they leave; later it is in ``stash``.
    """
    chosen = named or (stash or {}).get("variables")
    if provider and chosen:
        provider = vault.for_person(provider, chosen)
    meant = vault.connection_to_renew(row)
    return Visit(
        elicitation=row.pk,
        claim=row.claim,
        params=row.params,
        config=config_of(row, provider),
        redirect_uri=redirect_uri(row, provider),
        state=state,
        stash=stash or {},
        account=meant.account_id or None if meant else None,
        language=language,
    )
