"""Seal everything anew under the newest vault key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows import vault


class Command(BaseCommand):
    help = "Seal every stored secret anew under the newest key of ELICIT_VAULT_KEYS. Safe while the service runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--receipts", action="store_true", help="Sign receipts with a new key from now on.")

    def handle(self, *args: Any, receipts: bool, **options: Any) -> None:
        if receipts:
            self.stdout.write(f"receipts: signed with key {vault.new_receipt_key()} from now on")
            return
        for column, rows in vault.rotate():
            self.stdout.write(f"{column}: {rows} sealed anew")
