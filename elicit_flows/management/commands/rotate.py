"""Seal everything anew under the newest vault key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from elicit_flows import vault


class Command(BaseCommand):
    help = "Seal every stored secret anew under the newest key of ELICIT_VAULT_KEYS. Safe while the service runs."

    def handle(self, *args: Any, **options: Any) -> None:
        for column, rows in vault.rotate():
            self.stdout.write(f"{column}: {rows} sealed anew")
