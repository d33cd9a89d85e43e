"""Make a database that was restored from a backup fit to be served."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows.queue import feed


class Command(BaseCommand):
    help = (
        "Run once after a restore, before the service starts: events go on being counted far beyond what agents have "
        "read since the backup, so that their cursors skip none."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"feeds that go on beyond what was read: {feed.leap()}")
