"""Forgetting: what is over is kept for a while, then goes, a batch at a time."""

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
from elicit_flows.models import Attempt, Delivery, Elicitation, Event, Inbound, SignOut, Tally, Use, Vouch
from elicit_flows.models.tally import EVER

BATCH = 500
KEEP_ATTEMPTS = timedelta(days=1)
KEEP_TALLIES = timedelta(days=90)
KEEP_VOUCHES = timedelta(hours=1)
KEEP_NOTES = timedelta(days=1)  # as the API promises
KEEP_SIGN_OUTS = timedelta(seconds=2 * settings.SESSION_COOKIE_AGE)  # every session of before is over by then


def purge() -> dict[str, int]:
    """Delete what is past its time; how many rows of each kind."""
    gone = Counter(dict.fromkeys(due(), 0))
    for name, count in batches():
        gone[name] += count
    return dict(gone)


def purge_for(seconds: float) -> bool:
    """Delete what is past its time for about so long; whether that was all."""
    end = time.monotonic() + seconds
    return all(time.monotonic() < end for _ in batches())


def batches() -> Iterator[tuple[str, int]]:
    """Delete what is past its time: yields (kind, rows gone) after each batch. May be left at any of them."""
    for name, rows in due().items():
        while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
            yield name, _forget(name, rows.filter(pk__in=batch))


def due() -> dict[str, QuerySet[Any]]:
    """What is past its time. Events that a delivery still needs are not; what is not over never is."""
    return {
        "attempts": Attempt.objects.filter(expires_at__lt=clock.now() - KEEP_ATTEMPTS),
        "vouches": Vouch.objects.filter(created_at__lt=clock.now() - KEEP_VOUCHES),
        "deliveries": Delivery.objects.exclude(status="pending").filter(created_at__lt=_before("DELIVERIES")),
        "events": Event.objects.filter(created_at__lt=_before("EVENTS")).exclude(delivery__status="pending"),
        "inbound": Inbound.objects.filter(try_at=None, received_at__lt=_before("INBOUND")),
        "elicitations": Elicitation.objects.filter(parent=None, finished_at__lt=_before("ELICITATIONS")),
        "notes": Elicitation.objects.exclude(note="").filter(finished_at__lt=clock.now() - KEEP_NOTES),
        "uses": Use.objects.filter(last_at__lt=_before("USES")),
        "connections": vault.ended_before(_before("CONNECTIONS")),
        "sessions": Session.objects.filter(expire_date__lt=clock.now()),
        "tallies": Tally.objects.filter(hour__gt=EVER, hour__lt=clock.now() - KEEP_TALLIES),
        "sign-outs": SignOut.objects.filter(at__lt=clock.now() - KEEP_SIGN_OUTS),
    }


def _forget(name: str, rows: QuerySet[Any]) -> int:
    if name == "notes":  # of an elicitation that stays
        return rows.update(note="")
    _, by_model = rows.delete()
    return by_model.get(rows.model._meta.label, 0)


def _before(kind: str) -> datetime:
    """What is older than ``ELICIT_KEEP_{kind}`` days goes."""
    moment: datetime = clock.now() - timedelta(days=getattr(settings, f"ELICIT_KEEP_{kind}"))
    return moment
