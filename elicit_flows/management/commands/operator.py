"""Create an operator, or change one."""

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

from elicit_flows.admin.audit_log import record
from elicit_flows.admin.roles import ROLES
from elicit_flows.vault import two_factor

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Create the operator NAME, or change one. A new operator gets a temporary password, which is printed once and "
        "has to be replaced at the first sign-in. The audit log records all changes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--role",
            choices=sorted(ROLES),
            help=(
                "viewer: sees the state of the service; operator: also sees people, and acts; administrator: also "
                "configures; auditor: sees and exports everything, and changes nothing"
            ),
        )
        parser.add_argument("--new-password", action="store_true", help="Issue a new temporary password.")
        parser.add_argument(
            "--reset-second-factor", action="store_true", help="Require a new second factor at the next sign-in."
        )
        parser.add_argument("--disable", action="store_true", help="Sign the operator out and block the account.")

    @transaction.atomic
    def handle(self, *args: Any, name: str, role: str | None, **options: Any) -> None:
        name = User.normalize_username(name)  # as the sign-in does with what is typed there
        user = User.objects.filter(username=name).first()
        if user is None:
            user = self._make(name, role)
        elif not (role or options["new_password"] or options["reset_second_factor"] or options["disable"]):
            raise CommandError(f"{name} exists already. Name what to change: see --help.")
        elif options["new_password"]:
            self._give_password(user)
        if role:
            # Give this role and no other, and no permissions besides.
            user.groups.set([Group.objects.get(name=role)])
            user.user_permissions.clear()
            user.is_staff, user.is_superuser, user.is_active = True, False, True
            user.save()
            self._report(user, f"given the role {role}")
        if options["reset_second_factor"]:
            two_factor.forget_factor(two_factor.operator(user))
            self._report(user, "reset the second factor: the next sign-in sets up a new one")
        if options["disable"]:
            User.objects.filter(pk=user.pk).update(is_active=False)
            self._report(user, "disabled")

    def _make(self, name: str, role: str | None) -> User:
        if role is None:
            raise CommandError(f"There is no operator {name}. To create one, use --role {', '.join(sorted(ROLES))}.")
        user = User(username=name, is_staff=True)
        try:
            user.clean_fields(exclude=["password"])
        except ValidationError as error:
            raise CommandError(f"NAME is {name!r}: {' '.join(error.messages)}") from error
        user.set_unusable_password()
        user.save()
        self._report(user, "made")
        self._give_password(user)
        return user

    def _give_password(self, user: User) -> None:
        password = secrets.token_urlsafe(18)
        user.set_password(password)
        user.is_active = True
        user.save()
        row = two_factor.operator(user)
        row.given_password = True
        row.save(update_fields=["given_password"])
        self._report(user, "given a first password")
        self.stdout.write(f"sign in at {settings.ELICIT_PUBLIC_URL}/admin/ with the password {password}")

    def _report(self, user: User, what: str) -> None:
        record(user, f"By manage.py operator: {what}.")
        self.stdout.write(f"operator {user.username}: {what}")
