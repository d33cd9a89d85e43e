"""Forgetting: what is over is kept for a while, then goes."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.sessions.models import Session

from elicit_flows.lib import clock
from elicit_flows.models import Attempt, Delivery, Elicitation, Event, Inbound, Vouch

KEEP_ATTEMPTS = timedelta(days=1)
KEEP_VOUCHES = timedelta(hours=1)
KEEP_ELICITATIONS = timedelta(days=90)  # with their messages and parameters
KEEP_NOTES = timedelta(days=1)  # as the API promises
KEEP_EVENTS = timedelta(days=90)
KEEP_DELIVERIES = timedelta(days=30)
KEEP_INBOUND = timedelta(days=30)  # for longer than a provider sends one again


def purge() -> dict[str, int]:
    """Delete what is past its time; how many rows of each kind. Events that a delivery still needs stay."""
    now = clock.now()
    gone = {
        "attempts": Attempt.objects.filter(expires_at__lt=now - KEEP_ATTEMPTS),
        "vouches": Vouch.objects.filter(created_at__lt=now - KEEP_VOUCHES),
        "deliveries": Delivery.objects.exclude(status="pending").filter(created_at__lt=now - KEEP_DELIVERIES),
        "events": Event.objects.filter(created_at__lt=now - KEEP_EVENTS).exclude(delivery__status="pending"),
        "inbound": Inbound.objects.filter(try_at=None, received_at__lt=now - KEEP_INBOUND),
        "elicitations": Elicitation.objects.filter(parent=None, finished_at__lt=now - KEEP_ELICITATIONS),
        "sessions": Session.objects.filter(expire_date__lt=now),
    }
    notes = Elicitation.objects.exclude(note="").filter(finished_at__lt=now - KEEP_NOTES)
    return {name: rows.delete()[0] for name, rows in gone.items()} | {"notes": notes.update(note="")}
