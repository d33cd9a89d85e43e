"""What every step shares: finding the row, whose it is, and the one writer of a status."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from elicit_flows import kinds, queue, vault
from elicit_flows.errors import NotFound, Over, WrongUser
from elicit_flows.kinds.credentials.config import CredentialsProvider
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Event, PaymentAccount, Provider
from elicit_flows.states import TERMINAL, Status, sources
from elicit_flows.values import Claim, Json, Visit

log = logging.getLogger(__name__)

REFUSALS_TOLD = 5  # per elicitation: a stranger must not fill the agent's feed


def move(row: Elicitation, to: Status, only: list[Status] | None = None, **fields: Any) -> bool:
    """The only writer of a status: compare-and-set, then the event. False when somebody else was first."""
    if to in TERMINAL:
        fields["finished_at"] = clock.now()
    allowed = [status for status in sources(to) if only is None or status in only]
    changed = Elicitation.objects.filter(pk=row.pk, status__in=allowed).update(status=to, seq=F("seq") + 1, **fields)
    row.refresh_from_db(fields=["status", "seq", "result", "error", "settling_since", "finished_at"])
    if changed:
        queue.publish(row.agent, f"elicitation.{to}", row.snapshot(), row)
    return changed == 1


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
    if row.over or row.overdue:
        raise Over(elicitation=row.pk)
    return row


def refuse(row: Elicitation, where: str) -> None:
    """Somebody who is signed in as another person tried to act."""
    log.warning("elicitation %s: the wrong person was refused at the %s", row.pk, where)
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
    return vault.credentials(provider) if provider.sort == Provider.Sort.CREDENTIALS else vault.oauth(provider)


def visit_of(row: Elicitation, state: str = "", stash: Json | None = None) -> Visit:
    return Visit(
        elicitation=row.pk,
        claim=row.claim,
        params=row.params,
        config=config_of(row),
        redirect_uri=f"{settings.ELICIT_PUBLIC_URL}/callback/{context_of(row)}",
        state=state,
        stash=stash or {},
    )
