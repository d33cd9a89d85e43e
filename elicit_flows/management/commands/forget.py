"""Delete everything about a person who asked for it elsewhere than at /account."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import flow
from elicit_flows.models import IdentityProvider
from elicit_flows.values import Claim


class Command(BaseCommand):
    help = "Delete everything about a person, as the button at /account/delete does (docs/account.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("iss", metavar="ISS", help="The issuer of their identity provider, byte for byte.")
        parser.add_argument("sub", metavar="SUB", help="Their sub there, byte for byte.")

    def handle(self, *args: Any, iss: str, sub: str, **options: Any) -> None:
        if not IdentityProvider.objects.filter(issuer=iss).exists():
            raise CommandError(f"{iss!r} is the issuer of no identity provider here. Nothing was done.")
        flow.ask_to_erase(Claim(iss, sub))
        self.stdout.write("Everything is being deleted: their agents have lost it, the worker does the rest.")
