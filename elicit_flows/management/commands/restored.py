"""Prepare a database that was restored from a backup."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows import people
from elicit_flows.events import feed
from elicit_flows.jobs import audit_lines


class Command(BaseCommand):
    help = (
        "Run once after a restore, before the service starts. Event positions continue far above those that agents "
        "have read since the backup, so that their cursors skip no event, and so do the numbers of the audit log. All "
        "people and operators are signed out."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"feeds moved beyond what agents have read: {feed.skip_positions()}")
        audit_lines.skip_admin_numbers()
        self.stdout.write("audit log: numbered beyond what was sent elsewhere")
        self.stdout.write(f"sessions ended: {people.end_all_sessions()}")
