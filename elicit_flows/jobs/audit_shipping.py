"""Sends the audit log to the destination in ``ELICIT_AUDIT_LOG``.

Every entry is sent after its transaction has ended, in the order of its source, and at least once. The position of a
source is recorded after its lines were sent. Lines that were sent but not recorded are sent again, with the same
``id``.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry

from elicit_flows.events.publish import LIVE
from elicit_flows.jobs import audit_lines
from elicit_flows.lib import clock
from elicit_flows.lib.line_sinks import Sink
from elicit_flows.models import AuditPosition, Event, Feed
from elicit_flows.models.leases import claim, held

log = logging.getLogger(__name__)

ADMIN = "admin"
BATCH = 500
LEASE = timedelta(seconds=60)  # longer than a destination takes for a batch


def ship() -> int:
    """Send the new lines. Returns how many. Does nothing if no destination is set."""
    sink: Sink | None = settings.ELICIT_AUDIT_LOG
    if not sink:
        return 0
    sent = dict(AuditPosition.objects.values_list("source", "position"))
    feeds = [
        (f"agent:{agent}", last) for agent, last in Feed.objects.order_by("agent").values_list("agent", "position")
    ]
    newest = LogEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    behind = [source for source, last in [(ADMIN, newest), *feeds] if last > sent.get(source, 0)]
    return sum(_ship(source, sink) for source in behind)


def _ship(source: str, sink: Sink) -> int:
    row, _ = AuditPosition.objects.get_or_create(source=source)
    if row.lease_until > clock.now() or not claim(row, "lease_until", lease_until=clock.now() + LEASE):
        return 0
    if source == ADMIN:
        found = audit_lines.of_admin(row.position, BATCH)
        lines, position = [line for _, line in found], found[-1][0] if found else row.position
    else:
        behind = Event.objects.filter(agent=int(source.partition(":")[2]), position__gt=row.position)
        rows = list(behind.select_related("agent").order_by("position")[:BATCH])
        # A form that is being filled in has several events a second. They are of no use in an audit log.
        lines = [audit_lines.event_line(one) for one in rows if one.type not in LIVE]
        position = rows[-1].position if rows else row.position
    try:
        if lines:
            sink.write(lines)
    except OSError as error:
        log.warning("the audit log cannot be sent to %s; it is tried again: %s", sink, error)
        lines, position = [], row.position
    held(row, "lease_until").update(position=position, lease_until=clock.now())
    return len(lines)
