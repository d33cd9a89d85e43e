"""The vault's keys: what each seals, a new one, and taking one out."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import vault
from elicit_flows.errors import FlowError


class Command(BaseCommand):
    help = "Without a word: the vault's keys, what each still seals, and which may be taken out of ELICIT_VAULT_KEYS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        words = parser.add_subparsers(dest="word", metavar="new ID | retire ID")
        new = words.add_parser("new", help="Print an entry for a new key, to be put in front of ELICIT_VAULT_KEYS.")
        new.add_argument("key", metavar="ID")
        new.add_argument("--kms", metavar="SERVICE", help="Have it made and wrapped by aws-kms or vault.")
        new.add_argument(
            "--kms-key", metavar="NAME", default="", help="The service's key: alias/elicit, transit/elicit."
        )
        retire = words.add_parser("retire", help="Make sure that nothing needs a key, before you take it out.")
        retire.add_argument("key", metavar="ID")

    def handle(self, *args: Any, word: str | None, **options: Any) -> None:
        if word == "retire":
            self._retire(options["key"])
        elif word == "new":
            self._new(options["key"], options["kms"], options["kms_key"])
        else:
            self._list()

    def _list(self) -> None:
        for use in vault.key_uses():
            texts = ", ".join(f"{name} {count:,}" for name, count in use.texts.items())
            self.stdout.write(f"{use.key}: seals {use.total:,} texts" + (f" ({texts})" if texts else ""))
            self.stdout.write(f"    {_says(use)}")

    def _new(self, key: str, service: str | None, name: str) -> None:
        if bool(service) != bool(name):
            raise CommandError("--kms and --kms-key go together.")
        try:
            entry = vault.new_entry(key, service, name)
        except FlowError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(entry)
        self.stderr.write("Put it in front of ELICIT_VAULT_KEYS, restart every process, then run `manage.py rotate`.")

    def _retire(self, key: str) -> None:
        try:
            vault.retire(key)
        except FlowError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"{key}: nothing needs it. Take it out of ELICIT_VAULT_KEYS and restart every process.")


def _says(use: vault.KeyUse) -> str:
    if not use.in_ring:
        return (
            "missing from ELICIT_VAULT_KEYS: put it back" if use.total else "known from before, and needed by nothing"
        )
    if use.newest:
        return "the newest: whatever is written now is sealed with it"
    return "may be taken out: `manage.py keys retire`" if use.spare else "needed until `manage.py rotate` has run"
