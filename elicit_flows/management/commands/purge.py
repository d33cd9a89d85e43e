"""Delete what is past its time, as the worker does every hour."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows import purge as purging
from elicit_flows.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Delete what is past its time (ELICIT_KEEP_…, docs/operating.md), as the worker does every hour. Safe while "
        "the service runs; it may be stopped and run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Delete nothing; say how much would go.")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        due = {name: rows.count() for name, rows in purging.due().items()}
        if not dry_run:
            with Progress(self.stderr, "python manage.py purge", total=sum(due.values())) as progress:
                for name, count in purging.batches():
                    progress.done(name, count)
            due |= progress.counts
        for name, count in due.items():
            self.stdout.write(f"{name}: {count:,} {'would go' if dry_run else 'deleted'}")
