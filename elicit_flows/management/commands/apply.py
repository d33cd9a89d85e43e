"""Apply a configuration file."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, IntegrityError, transaction

from elicit_flows import config_file, vault
from elicit_flows.admin.audit_log import describe_changes, record
from elicit_flows.config_file.payment_accounts import needs_webhook_secret
from elicit_flows.domain.errors import Unavailable


class Command(BaseCommand):
    help = (
        "Create and change identity providers, providers, payment accounts and agents as FILE.toml says. Rows that are "
        "not in the file stay as they are. Secrets can be given as env:NAME or file:PATH."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.toml")
        parser.add_argument(
            "--dry-run", action="store_true", help="change nothing; show what would change, field by field"
        )
        parser.add_argument(
            "--yes", action="store_true", help="also empty values that are stored and no longer in the file"
        )

    def handle(self, *args: Any, file: str, dry_run: bool, yes: bool, **options: Any) -> None:
        try:
            raw = Path(file).read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from error
        with self._refusals(file):
            tables = config_file.read(raw)
            config_file.check(tables)
            lines = _preview(tables) if dry_run else _apply(tables, yes=yes)
        for line in lines:
            self.stdout.write(line)
        for warning in _warnings(tables):
            self.stderr.write(self.style.WARNING(warning))
        if dry_run:
            self.stderr.write("Nothing was changed: this was a dry run.")

    @contextmanager
    def _refusals(self, file: str) -> Iterator[None]:
        """Says why nothing was changed."""
        try:
            yield
        except config_file.InvalidFile as error:
            for fault in error.faults:
                self.stderr.write(f"{file}:{fault.line}: {fault.key}: {fault.message}")
            raise CommandError("Nothing was changed.") from None
        except WouldEmpty as error:
            for line in error.lines:
                self.stderr.write(line)
            raise CommandError(
                "Nothing was changed: the file would empty what is listed above. Add it to the file, or say --yes."
            ) from None
        except IntegrityError as error:
            raise CommandError(
                "Nothing was changed: an issuer or an API key moves from one row to another. Apply it in two steps."
            ) from error
        except DatabaseError as error:
            raise CommandError(
                f"Nothing was changed: the database does not answer, or `manage.py migrate` was not run ({error})."
            ) from error
        except ImproperlyConfigured as error:
            raise CommandError(f"Nothing was changed: {error}") from error
        except Unavailable as error:
            raise CommandError(
                "Nothing was changed: a stored secret does not open with ELICIT_VAULT_KEYS. Use the previous keys."
            ) from error


def _preview(tables: config_file.Tables) -> list[str]:
    """What ``_apply`` would do. The changes are made and rolled back, so that the result is exact."""
    vault.check_keys()
    found: list[config_file.Difference] = []
    lines: list[str] = []
    with transaction.atomic():
        config_file.write(tables, found.append)
        for one in found:
            if one.new or one.changes:
                lines.append(f"{one.what}: {'would be made' if one.new else 'would change'}")
                lines += [f"  {line}" for line in one.lines()]
            else:
                lines.append(f"{one.what}: as it is")
        transaction.set_rollback(True)
    lines += [f"{what}: not in the file, stays as it is" for what in config_file.not_in_file(tables)]
    return lines


class WouldEmpty(Exception):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines)
        self.lines = lines


def _apply(tables: config_file.Tables, *, yes: bool) -> list[str]:
    vault.verify_keys()
    emptied: list[str] = []

    def note(found: config_file.Difference) -> None:
        emptied.extend(f"{found.what}: {name} would be emptied" for name in found.emptied())
        if not found.new and not found.changes:
            return
        # Log the change under a user who cannot sign in. Only the operating system knows who runs commands.
        who, made = User.objects.get_or_create(username="manage.py", defaults={"is_active": False})
        if made:
            who.set_unusable_password()
            who.save(update_fields=["password"])
        values = [(name, *pair) for name, pair in found.changes.items() if pair is not None]
        secrets = [name for name, pair in found.changes.items() if pair is None]
        record(who, f"By manage.py apply. {describe_changes(values, secrets, new=found.new)}", found.row)

    with transaction.atomic():
        lines = config_file.write(tables, note)
        if emptied and not yes:
            raise WouldEmpty(emptied)
    return lines


def _warnings(tables: config_file.Tables) -> Iterator[str]:
    """What is allowed but rarely intended."""
    for entry in tables.of("provider"):
        if entry.values["pkce"] == "off":
            yield f"provider {entry.slug}: pkce is off, so a stolen code can be redeemed"
        if entry.values["grant"] == "device_code":
            yield f"provider {entry.slug}: grant is device_code, so nobody can know who types the code at the provider"
    for entry in tables.of("payment_account"):
        if not entry.values["webhook_secrets"] and needs_webhook_secret(entry.values["provider"]):
            yield f"payment account {entry.slug}: has no webhook_secrets, so its provider's webhooks are refused"
    for entry in tables.of("agent"):
        if not entry.values["identity_providers"]:
            yield f"agent {entry.slug}: may ask nobody until it has identity_providers"
