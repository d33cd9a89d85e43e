"""Make an operator, or change what one may do."""

from __future__ import annotations

import logging
import secrets
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from elicit_flows.admin.noting import note
from elicit_flows.admin.roles import ROLES
from elicit_flows.vault import operators

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Make NAME an operator of the admin, or change what they may do. A new one gets a password that counts until "
        "they choose their own at the first sign-in; it is printed once. All of it is in the audit log."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--role", choices=sorted(ROLES), help="viewer looks, operator acts, auditor reads it all")
        parser.add_argument("--new-password", action="store_true", help="Give another first password.")
        parser.add_argument("--reset-second-factor", action="store_true", help="The next sign-in sets up another.")
        parser.add_argument("--disable", action="store_true", help="Sign them out, and let them in no more.")

    @transaction.atomic
    def handle(self, *args: Any, name: str, role: str | None, **options: Any) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            user = self._make(name, role)
        elif not (role or options["new_password"] or options["reset_second_factor"] or options["disable"]):
            raise CommandError(f"{name} is there already. Say what to change: see --help.")
        elif options["new_password"]:
            self._give_password(user)
        if role:
            self._give_role(user, role)
        if options["reset_second_factor"]:
            operators.forget_factor(operators.operator(user))
            self._say(user, "reset the second factor: the next sign-in sets up another")
        if options["disable"]:
            User.objects.filter(pk=user.pk).update(is_active=False)
            self._say(user, "disabled")

    def _make(self, name: str, role: str | None) -> User:
        if role is None:
            raise CommandError(f"There is no operator {name}. To make one, say --role {', '.join(sorted(ROLES))}.")
        user = User(username=name, is_staff=True)
        try:
            user.clean_fields(exclude=["password"])
        except ValidationError as error:
            raise CommandError(f"NAME is {name!r}: {' '.join(error.messages)}") from error
        user.set_unusable_password()
        user.save()
        self._say(user, "made")
        self._give_password(user)
        return user

    def _give_password(self, user: User) -> None:
        password = secrets.token_urlsafe(18)
        user.set_password(password)
        user.is_active = True
        user.save()
        row = operators.operator(user)
        row.given_password = True
        row.save(update_fields=["given_password"])
        self._say(user, "given a first password")
        self.stdout.write(f"sign in at {settings.ELICIT_PUBLIC_URL}/admin/ with the password {password}")

    def _give_role(self, user: User, role: str) -> None:
        """This one and no other, nor anything beside it."""
        user.groups.set([Group.objects.get(name=role)])
        user.user_permissions.clear()
        user.is_staff, user.is_superuser, user.is_active = True, False, True
        user.save()
        self._say(user, f"given the role {role}")

    def _say(self, user: User, what: str) -> None:
        note(user, f"By manage.py operator: {what}.")
        self.stdout.write(f"operator {user.username}: {what}")
