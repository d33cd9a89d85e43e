"""Write the audit log of a period into a signed file."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from heapq import merge
from pathlib import Path
from typing import Any

from django.contrib.admin.models import LogEntry
from django.core.management.base import BaseCommand, CommandError

from elicit_flows.events.publish import LIVE
from elicit_flows.jobs import audit_lines
from elicit_flows.lib import clock
from elicit_flows.lib.paging import in_pages
from elicit_flows.models import Event
from elicit_flows.people import signed_exports


class Command(BaseCommand):
    help = (
        "Write the audit log of a period into FILE, as lines of JSON, oldest first, and its signature "
        "into FILE.jws. manage.py verify checks it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--since", type=date.fromisoformat, metavar="YYYY-MM-DD", help="the first day (UTC)")
        parser.add_argument("--until", type=date.fromisoformat, metavar="YYYY-MM-DD", help="the last day (UTC)")

    def handle(self, *args: Any, file: Path, since: date | None, until: date | None, **options: Any) -> None:
        if since and until and since > until:
            raise CommandError(f"--since {since} is after --until {until}: the first day comes first.")
        first = clock.midnight(since) if since else datetime.min.replace(tzinfo=UTC)
        last = until if until and until < date.max else None  # no day comes after that one
        end = clock.midnight(last) + timedelta(days=1) if last else datetime.max.replace(tzinfo=UTC)
        entries = LogEntry.objects.filter(action_time__gte=first, action_time__lt=end)
        entries = entries.select_related("user", "content_type")
        events = Event.objects.filter(created_at__gte=first, created_at__lt=end).exclude(type__in=LIVE)
        events = events.select_related("agent")
        count, signature = 0, file.with_name(f"{file.name}.jws")
        try:
            # Never overwrites a file. Only its owner can read it, because it names people.
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with _whole(file), os.fdopen(opened, "w", encoding="utf-8") as out:
                of_entries = (
                    (row.action_time, audit_lines.admin_line(row)) for row in in_pages(entries, "action_time")
                )
                of_events = ((row.created_at, audit_lines.event_line(row)) for row in in_pages(events, "created_at"))
                for _, line in merge(of_entries, of_events):
                    out.write(f"{line}\n")
                    count += 1
            with _whole(file), _whole(signature):
                signature.write_text(signed_exports.sign_file(file) + "\n", encoding="ascii")
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be written ({error.strerror}).") from error
        self.stdout.write(f"{count} entries in {file}, signed in {file}.jws")


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    """Removes the file if it does not come to its end: half of it looks like a whole one."""
    with ExitStack() as undone:
        undone.callback(file.unlink, missing_ok=True)
        yield
        undone.pop_all()
