"""Make the operator's configuration as a file says."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, IntegrityError

from elicit_flows import configure, vault
from elicit_flows.configure.payments import wants_webhook_secret
from elicit_flows.errors import Unavailable


class Command(BaseCommand):
    help = (
        "Make identity providers, providers, payment accounts and agents as FILE.toml says. Run again it changes only "
        "what differs; what is not in the file is left alone. Secrets may be given as env:NAME or file:PATH."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.toml")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            self._apply(file)
        except configure.WrongFile as wrong:
            for fault in wrong.faults:
                self.stderr.write(f"{file}:{fault.line}: {fault.key}: {fault.message}")
            raise CommandError("Nothing was changed.") from None
        except IntegrityError as error:
            raise CommandError(
                "Nothing was changed: an issuer or an API key moves from one to another. Apply it in two steps."
            ) from error
        except DatabaseError as error:
            raise CommandError(
                f"Nothing was changed: the database does not answer, or `manage.py migrate` was not run ({error})."
            ) from error
        except ImproperlyConfigured as error:
            raise CommandError(f"Nothing was changed: {error}") from error
        except Unavailable as error:
            raise CommandError(
                "Nothing was changed: a stored secret does not open with ELICIT_VAULT_KEYS. Use the keys of before."
            ) from error

    def _apply(self, file: str) -> None:
        try:
            raw = Path(file).read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from error
        tables = configure.read(raw)
        configure.check(tables)
        vault.verify_keys()
        for line in configure.write(tables):
            self.stdout.write(line)
        for line in _warnings(tables):
            self.stderr.write(self.style.WARNING(line))


def _warnings(tables: configure.Tables) -> Iterator[str]:
    """What is allowed and yet seldom meant."""
    for entry in tables.of("provider"):
        if entry.values["pkce"] == "off":
            yield f"provider {entry.slug}: pkce is off, so whoever gets hold of a code can redeem it"
        if entry.values["grant"] == "device_code":
            yield f"provider {entry.slug}: grant is device_code, so nobody can know who types the code at the provider"
    for entry in tables.of("payment_account"):
        if not entry.values["webhook_secrets"] and wants_webhook_secret(entry.values["provider"]):
            yield f"payment account {entry.slug}: has no webhook_secrets, so its provider's webhooks are refused"
    for entry in tables.of("agent"):
        if not entry.values["identity_providers"]:
            yield f"agent {entry.slug}: may ask nobody until it has identity_providers"
