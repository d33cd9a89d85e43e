"""Encrypt all stored secrets with the newest vault key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import vault
from elicit_flows.management.progress import Progress


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the newest key of ELICIT_VAULT_KEYS, while the service runs. If it was "
        "stopped, run it again: it continues with the rest. `manage.py keys` shows how much each key encrypts."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--receipts", action="store_true", help="Sign receipts with a new key from now on.")

    def handle(self, *args: Any, receipts: bool, **options: Any) -> None:
        if receipts:
            self.stdout.write(f"receipts: signed with key {vault.new_receipt_key()} from now on")
            return
        broken: list[str] = []
        with Progress(self.stderr, "manage.py rotate", total=vault.left_to_rotate()) as progress:
            for batch in vault.rotate():
                broken += [f"{batch.column} of {row}" for row in batch.broken]
                progress.done(batch.column, batch.sealed)
        for column, rows in progress.counts.items():
            self.stdout.write(f"{column}: {rows} re-encrypted")
        if not progress.counts:
            self.stdout.write("Everything is encrypted with the newest key.")
        if broken:
            raise CommandError(f"{len(broken)} cannot be decrypted and were not changed: {', '.join(broken[:20])}.")
