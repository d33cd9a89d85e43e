"""Deletes data whose retention time is over, in batches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from elicit_flows import vault
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Attempt,
    ConnectionCall,
    ConnectionUse,
    Contact,
    Delivery,
    Elicitation,
    Event,
    IdentityAssertion,
    Inbound,
    LoginAssertion,
    Notification,
    NotificationSettings,
    PushSubscription,
    SignOut,
    Tally,
)
from elicit_flows.models.counters import EVER

BATCH = 500
KEEP_ATTEMPTS = timedelta(days=1)
KEEP_TALLIES = timedelta(days=90)
KEEP_LOGIN_ASSERTIONS = timedelta(hours=1)
KEEP_NOTES = timedelta(days=1)  # as the API promises
KEEP_CONTACTS = timedelta(days=365)  # since the person last signed in
KEEP_PUSH = timedelta(days=365)  # since the person asked for it in that browser; most end sooner
KEEP_SIGN_OUTS = timedelta(seconds=2 * settings.SESSION_COOKIE_AGE)  # every earlier session has expired by then
# The column with the age of a row. Each has an index for the purge.
AGE = {
    "attempts": "expires_at",
    "login_assertions": "created_at",
    "identity_assertions": "expires_at",
    "deliveries": "created_at",
    "events": "created_at",
    "inbound": "received_at",
    "elicitations": "finished_at",
    "notifications": "created_at",
    "notes": "finished_at",
    "uses": "last_at",
    "calls": "last_at",
    "connections": "revoked_at",
    "sessions": "expire_date",
    "tallies": "hour",
    "sign-outs": "at",
    "contacts": "seen_at",
    "push-subscriptions": "created_at",
}


def purge() -> dict[str, int]:
    """Delete what is due. Returns the number of rows by kind."""
    gone = Counter(dict.fromkeys(due(), 0))
    for name, count in batches():
        gone[name] += count
    return dict(gone)


def purge_for(seconds: float) -> bool:
    """Delete what is due, for about this many seconds. Returns whether nothing is left."""
    end = time.monotonic() + seconds
    return all(time.monotonic() < end for _ in batches())


def batches() -> Iterator[tuple[str, int]]:
    """Delete what is due. Yields (kind, deleted rows) after each batch; the caller may stop after any of them."""
    for name, whole in due().items():
        # Deliveries by agent, like their index. An index by age alone would make each delivery more expensive.
        agents = Agent.objects.order_by("pk") if name == "deliveries" else ()
        for rows in [whole.filter(agent=agent) for agent in agents] or [whole]:
            yield from ((name, _forget(name, batch)) for batch in _oldest_first(rows, AGE[name]))


def _oldest_first(rows: QuerySet[Any], age: str) -> Iterator[QuerySet[Any]]:
    """Batches, oldest first. Each begins where the one before ended: otherwise it would read the rows that were just
    deleted, which stay in the index until the database is vacuumed.
    """
    left = rows
    while batch := list(left.order_by(age).values_list("pk", age)[:BATCH]):
        yield rows.filter(pk__in=[pk for pk, _ in batch])
        left = rows.filter(**{f"{age}__gte": batch[-1][1]})


def due() -> dict[str, QuerySet[Any]]:
    """The rows to delete, by kind. Events of pending deliveries and elicitations that have not ended are kept."""
    # When the operator has switched notifications off, or web push, what only they need is not kept at all.
    offered = NotificationSettings.objects.first()
    contacts, subscriptions = Contact.objects.all(), PushSubscription.objects.all()
    if offered and offered.on:
        contacts = contacts.filter(seen_at__lt=clock.now() - KEEP_CONTACTS)
    if offered and offered.push:
        subscriptions = subscriptions.filter(created_at__lt=clock.now() - KEEP_PUSH)
    return {
        "attempts": Attempt.objects.filter(expires_at__lt=clock.now() - KEEP_ATTEMPTS),
        "login_assertions": LoginAssertion.objects.filter(created_at__lt=clock.now() - KEEP_LOGIN_ASSERTIONS),
        "identity_assertions": IdentityAssertion.objects.filter(expires_at__lt=clock.now()),
        "deliveries": Delivery.objects.exclude(status="pending").filter(created_at__lt=_before("DELIVERIES")),
        "events": Event.objects.filter(created_at__lt=_before("EVENTS")).exclude(delivery__status="pending"),
        "inbound": Inbound.objects.filter(try_at=None, received_at__lt=_before("INBOUND")),
        # A grant that its provider has yet to revoke would go with its elicitation.
        "elicitations": Elicitation.objects.filter(parent=None, finished_at__lt=_before("ELICITATIONS"))
        .exclude(pendinggrant__isnull=False)
        .exclude(steps__pendinggrant__isnull=False),
        # Those about charges; the others go with their elicitation.
        "notifications": Notification.objects.filter(elicitation=None, created_at__lt=_before("ELICITATIONS")),
        "notes": Elicitation.objects.exclude(note="").filter(finished_at__lt=clock.now() - KEEP_NOTES),
        "uses": ConnectionUse.objects.filter(last_at__lt=_before("USES")),
        "calls": ConnectionCall.objects.filter(last_at__lt=_before("CALLS")),
        "connections": vault.ended_before(_before("CONNECTIONS")),
        "sessions": Session.objects.filter(expire_date__lt=clock.now()),
        "tallies": Tally.objects.filter(hour__gt=EVER, hour__lt=clock.now() - KEEP_TALLIES),
        "contacts": contacts,
        "push-subscriptions": subscriptions,
        "sign-outs": SignOut.objects.filter(at__lt=clock.now() - KEEP_SIGN_OUTS),
    }


def _forget(name: str, rows: QuerySet[Any]) -> int:
    if name == "notes":  # of an elicitation that stays
        return rows.update(note="")
    _, by_model = rows.delete()
    return by_model.get(rows.model._meta.label, 0)


def _before(kind: str) -> datetime:
    """The time ``ELICIT_KEEP_{kind}`` days ago. Older rows are deleted."""
    moment: datetime = clock.now() - timedelta(days=getattr(settings, f"ELICIT_KEEP_{kind}"))
    return moment
