"""Check the signature of an export."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import vault
from elicit_flows.http import strict_json
from elicit_flows.lib import clock
from elicit_flows.people import signed_exports


class Command(BaseCommand):
    help = (
        "Check that FILE, a person's export or an audit log, is what this service signed in FILE.jws, and say when. "
        "With --keys it needs no database."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--keys", metavar="JWKS", type=Path, help="a copy of /.well-known/jwks.json, instead of the database's keys"
        )

    def handle(self, *args: Any, file: Path, keys: Path | None, **options: Any) -> None:
        try:
            signature = file.with_name(f"{file.name}.jws").read_text(encoding="ascii").strip()
            known = strict_json.loads(keys.read_bytes()) if keys else vault.public_keys()
            claims = signed_exports.check(file, signature, known)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read ({error.strerror}).") from error
        except vault.NotSigned as error:
            raise CommandError(str(error)) from error
        except ValueError as error:
            raise CommandError("The keys or the signature cannot be read.") from error
        at = clock.rfc3339(datetime.fromtimestamp(claims["iat"], UTC))
        self.stdout.write(f"{file} is what {claims['iss']} signed at {at}.")
