"""Invite a person to an account of this service."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import people
from elicit_flows.domain.errors import Invalid
from elicit_flows.models import IdentityProvider, Member
from elicit_flows.people import local_accounts


class Command(BaseCommand):
    help = "Print a link with which a person adds a passkey. It works once, for 24 hours."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name that pages show, or the sub of a person who has an account already")
        parser.add_argument("--forget", action="store_true", help="delete the passkeys that they have")

    def handle(self, name: str, forget: bool, **options: Any) -> None:
        accounts = IdentityProvider.objects.filter(sort=IdentityProvider.Sort.ACCOUNTS, enabled=True).first()
        if accounts is None:
            raise CommandError('This service has no accounts: apply an [[identity_provider]] with sort = "accounts".')
        try:
            member = Member.objects.filter(sub=name).first() or local_accounts.new(name)
        except Invalid as error:
            raise CommandError(error.detail) from None
        if not member.enabled:
            raise CommandError(f"{member.name} is switched off, and the link would lead nowhere. Switch them on first.")
        if forget:
            people.forget_passkeys(member)
        self.stdout.write(f"iss: {accounts.issuer}\nsub: {member.sub}\n{local_accounts.link(member)}")
