"""How people are told that a request waits for them: where, in which language, and of whose requests they want to hear.

An address comes from an identity provider that has verified it, or from the operator's directory, and from nobody else
(threat T159). Nothing is kept unless the operator has switched notifications on.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from elicit_flows import vault
from elicit_flows.domain.values import Claim, Json, Secret
from elicit_flows.identity import SignedIn
from elicit_flows.lib import clock, ids, locales
from elicit_flows.models import (
    Agent,
    Contact,
    Elicitation,
    Mandate,
    NotificationSettings,
    OptOut,
    PushSubscription,
    Recipient,
)
from elicit_flows.models.upsert import upsert
from elicit_flows.people import push


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a person is told. ``chat``: the operator's apprise URLs for them alone. ``email`` may be "". ``browsers``:
    those in which they asked for it.
    """

    email: str = ""
    chat: list[Secret] = field(default_factory=list)
    browsers: list[PushSubscription] = field(default_factory=list)


def remember(signed_in: SignedIn, language: str) -> None:
    """Keep what a sign-in says of the person, in place of what an earlier one said. ``language``: that of the page."""
    offered = NotificationSettings.objects.first()
    if offered is None or not offered.on:
        return
    claim = signed_in.claim
    row = Contact(iss=claim.iss, sub=claim.sub, language=language, seen_at=clock.now())
    vault.contacts.seal_email(row, signed_in.email if offered.email or offered.chat else "")
    upsert(row, "iss", "sub")


def addresses(claim: Claim) -> Addresses:
    """The operator's directory goes before what the person's identity provider said. Raises Unavailable."""
    mine = {"iss": claim.iss, "sub": claim.sub}
    listed, contact = Recipient.objects.filter(**mine).first(), Contact.objects.filter(**mine).first()
    email = (vault.contacts.open_email(listed) if listed else "") or (
        vault.contacts.open_email(contact) if contact else ""
    )
    return Addresses(email, vault.contacts.open_chat(listed) if listed else [], list(push.of(claim)))


def language(claim: Claim, suggested: str | None) -> str:
    """The language of the person's last sign-in, else the one that the agent suggested, else the operator's."""
    last = Contact.objects.filter(iss=claim.iss, sub=claim.sub).values_list("language", flat=True).first()
    wanted = (locales.supported(one) for one in (last, suggested) if one)
    return next((one for one in wanted if one), settings.ELICIT_LANGUAGE)


def person_of(claim: Claim) -> str:
    """The digest by which opt-outs name a person."""
    return ids.digest(json.dumps([claim.iss, claim.sub]))


def wants(claim: Claim, agent: Agent) -> bool:
    """Whether the person wants to be told of this agent's requests."""
    return not opt_outs(claim).filter(Q(agent=agent) | Q(agent=None)).exists()


def opt_outs(claim: Claim) -> QuerySet[OptOut]:
    return OptOut.objects.filter(person=person_of(claim))


def unsubscribe(person: str, agent: Agent | None) -> None:
    """Tell the person (``person_of``) no longer of this agent's requests, or of nobody's."""
    with suppress(IntegrityError), transaction.atomic():
        OptOut.objects.get_or_create(person=person, agent=agent)


def choose(claim: Claim, everything: bool, shown: set[str], agents: set[str]) -> None:
    """Replace the person's choice: told at all, and of the requests of which agents among those that were ``shown``
    (slugs). One that has asked since then was not chosen against.
    """
    with transaction.atomic():
        for agent in choices(claim).filter(slug__in=shown):
            if agent.slug in agents:
                opt_outs(claim).filter(agent=agent).delete()
            else:
                unsubscribe(person_of(claim), agent)
        if everything:
            opt_outs(claim).filter(agent=None).delete()
        else:
            unsubscribe(person_of(claim), None)


def choices(claim: Claim) -> QuerySet[Agent]:
    """The agents that may have people told and have asked this person, those that may charge this person, and those
    that they unsubscribed from.
    """
    mine = {"iss": claim.iss, "sub": claim.sub}
    asked = Elicitation.objects.filter(**mine).values("agent")
    charging = Mandate.objects.filter(**mine, status=Mandate.Status.ACTIVE).values("agent")
    return Agent.objects.filter(
        Q(pk__in=asked, notify=True, enabled=True) | Q(pk__in=charging) | Q(pk__in=opt_outs(claim).values("agent"))
    ).order_by("name", "pk")


def about(claim: Claim) -> Json | None:
    """What is kept about how the person is told, for themselves. A chat address is the operator's secret."""
    mine = {"iss": claim.iss, "sub": claim.sub}
    contact, listed = Contact.objects.filter(**mine).first(), Recipient.objects.filter(**mine).first()
    left = list(opt_outs(claim).select_related("agent").order_by("created_at"))
    browsers = list(push.of(claim).order_by("created_at"))
    if not (contact or listed or left or browsers):
        return None
    return {
        "email": vault.contacts.open_email(contact) if contact else "",
        "language": contact.language if contact else "",
        "signed_in_at": clock.rfc3339(contact.seen_at) if contact else None,
        "directory": {
            "email": vault.contacts.open_email(listed),
            "chat_addresses": len(vault.contacts.open_chat(listed)),
        }
        if listed
        else None,
        "browsers": [
            {"browser": row.browser, "system": row.system, "at": clock.rfc3339(row.created_at)} for row in browsers
        ],
        "unsubscribed": [
            {"agent": row.agent.slug if row.agent else None, "at": clock.rfc3339(row.created_at)} for row in left
        ],
    }


def forget(claim: Claim, until: datetime) -> None:
    """Delete what was kept of the person until then, the operator's entry included."""
    mine = {"iss": claim.iss, "sub": claim.sub}
    Contact.objects.filter(**mine, seen_at__lte=until).delete()
    Recipient.objects.filter(**mine).delete()
    push.of(claim).filter(created_at__lte=until).delete()
    opt_outs(claim).filter(created_at__lte=until).delete()
