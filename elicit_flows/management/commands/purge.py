"""Delete data whose retention time is over, as the worker does every hour."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows.jobs import purge as purging
from elicit_flows.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Delete data whose retention time is over (ELICIT_KEEP_…, docs/reference/retention.md), as the worker does "
        "every hour. It can run beside the service, and can be stopped and repeated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Delete nothing; print how much would be deleted.")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        due = {name: rows.count() for name, rows in purging.due().items()}
        if not dry_run:
            with Progress(self.stderr, "python manage.py purge", total=sum(due.values())) as progress:
                for name, count in purging.batches():
                    progress.done(name, count)
            due |= progress.counts
        for name, count in due.items():
            self.stdout.write(f"{name}: {count:,} {'would be deleted' if dry_run else 'deleted'}")
