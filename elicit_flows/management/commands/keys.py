"""List the vault keys, create one, and check that one can be removed."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import vault
from elicit_flows.domain.errors import FlowError


class Command(BaseCommand):
    help = "List the vault keys, how many stored texts each encrypts, and which can be removed from ELICIT_VAULT_KEYS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        words = parser.add_subparsers(dest="word", metavar="new ID | retire ID")
        new = words.add_parser("new", help="Print an entry for a new key, to be put first in ELICIT_VAULT_KEYS.")
        new.add_argument("key", metavar="ID")
        new.add_argument("--kms", metavar="SERVICE", help="Have the key made and wrapped by aws-kms or vault.")
        new.add_argument(
            "--kms-key", metavar="NAME", default="", help="The service's key: alias/elicit, transit/elicit."
        )
        retire = words.add_parser("retire", help="Check that nothing needs a key before you remove it.")
        retire.add_argument("key", metavar="ID")

    def handle(self, *args: Any, word: str | None, **options: Any) -> None:
        if word == "retire":
            key = options["key"]
            try:
                vault.retire(key)
            except FlowError as error:
                raise CommandError(error.detail) from None
            self.stdout.write(
                f"{key}: no stored text needs it. Remove it from ELICIT_VAULT_KEYS and restart every process."
            )
        elif word == "new":
            self._new(options["key"], options["kms"], options["kms_key"])
        else:
            for use in vault.key_uses():
                texts = ", ".join(f"{name} {count:,}" for name, count in use.texts.items())
                self.stdout.write(f"{use.key}: encrypts {use.total:,} texts" + (f" ({texts})" if texts else ""))
                self.stdout.write(f"    {_status(use)}")

    def _new(self, key: str, service: str | None, name: str) -> None:
        if bool(service) != bool(name):
            raise CommandError("--kms and --kms-key go together.")
        try:
            entry = vault.new_entry(key, service, name)
        except FlowError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(entry)
        self.stderr.write(
            "Put it last in ELICIT_VAULT_KEYS and restart every process. Then put it first, restart them again, "
            "and run `manage.py rotate`."
        )


def _status(use: vault.KeyUse) -> str:
    if not use.in_ring:
        return "missing from ELICIT_VAULT_KEYS: put it back" if use.total else "used earlier, and needed by nothing"
    if use.newest:
        return "the newest: everything that is written now is encrypted with it"
    return "can be removed: `manage.py keys retire`" if use.spare else "needed until `manage.py rotate` has run"
