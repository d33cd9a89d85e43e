"""Delete everything about a person, who may have asked for it by e-mail or letter."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import people
from elicit_flows.domain.values import Claim
from elicit_flows.models import IdentityProvider


class Command(BaseCommand):
    help = "Delete everything about a person, as the button at /account/delete does (docs/reference/account-pages.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("iss", metavar="ISS", help="The issuer of their identity provider, byte for byte.")
        parser.add_argument("sub", metavar="SUB", help="Their sub there, byte for byte.")

    def handle(self, *args: Any, iss: str, sub: str, **options: Any) -> None:
        if not IdentityProvider.objects.filter(issuer=iss).exists():
            raise CommandError(f"{iss!r} is not the issuer of an identity provider here. Nothing was deleted.")
        claim = Claim(iss, sub)
        known = people.is_known(claim)
        people.request_erasure(claim)
        if known:
            self.stdout.write("Agents have lost access. The worker deletes the data.")
        else:
            self.stderr.write(f"Nothing is stored of this person. Is {sub!r} their sub, byte for byte?")
