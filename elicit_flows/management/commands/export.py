"""Print the configuration as a file for ``apply``."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from elicit_flows import config_file
from elicit_flows.domain.errors import Unavailable


class Command(BaseCommand):
    help = (
        "Print identity providers, providers, payment accounts and agents as a file that apply accepts without a "
        "change. The file contains no secrets. It names an environment variable for each of them."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(config_file.export(), ending="")
        except DatabaseError as error:
            raise CommandError(
                f"The database does not answer, or `manage.py migrate` was not run ({error})."
            ) from error
        except (ImproperlyConfigured, Unavailable) as error:
            raise CommandError(
                "A stored secret does not open with ELICIT_VAULT_KEYS. Use the previous keys."
            ) from error
