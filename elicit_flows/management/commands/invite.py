"""Invites a person to an account of this service's own: prints a link with which they make a passkey, once."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import flow, members
from elicit_flows.errors import Invalid
from elicit_flows.models import IdentityProvider, Member


class Command(BaseCommand):
    help = "Prints a link with which a person makes a passkey. It works once, for 24 hours."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the pages call the person, or the sub of somebody who is there already")
        parser.add_argument("--forget", action="store_true", help="take away the passkeys that they have, if any")

    def handle(self, name: str, forget: bool, **options: Any) -> None:
        accounts = IdentityProvider.objects.filter(sort=IdentityProvider.Sort.ACCOUNTS, enabled=True).first()
        if accounts is None:
            raise CommandError('There are no accounts here: apply an [[identity_provider]] with sort = "accounts".')
        try:
            member = Member.objects.filter(sub=name).first() or members.new(name)
        except Invalid as wrong:
            raise CommandError(wrong.detail) from None
        if forget:
            flow.forget_passkeys(member)
        self.stdout.write(f"iss: {accounts.issuer}\nsub: {member.sub}\n{members.link(member)}")
