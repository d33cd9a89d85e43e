"""Who may do what: three roles, as Django groups that each ``migrate`` makes so.

A viewer sees how the service does, and no person. An operator sees people, and acts. An auditor sees and takes away
everything there is to see, and acts on nothing. Superusers, of ``createsuperuser``, may do all.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.http import HttpRequest

OURS, DJANGOS = "elicit_flows", "admin"
SEE_PEOPLE, EXPORT = f"{OURS}.see_people", f"{OURS}.export_rows"
SEEN = (
    "agent", "checkout", "connection", "delivery", "elicitation", "event", "identityprovider", "payment",
    "paymentaccount", "provider", "refund", "spendlimit",
)  # fmt: skip
CONFIGURED = ("agent", "identityprovider", "paymentaccount", "provider", "spendlimit")
ACTED_ON = ("connection", "delivery", "payment")

_LOOK = {f"view_{name}" for name in SEEN}
_KNOW = _LOOK | {"see_people", "export_rows", "view_logentry", "view_member"}
_ACT = {f"{verb}_{name}" for verb in ("add", "change") for name in CONFIGURED}
_ACT |= {f"change_{name}" for name in ACTED_ON} | {"delete_spendlimit"}
_ACT |= {"add_member", "change_member"}
ROLES = {"viewer": _LOOK, "operator": _KNOW | _ACT, "auditor": _KNOW}


def may(request: HttpRequest, permission: str) -> bool:
    return bool(request.user.has_perm(permission))


def make(sender: AppConfig, **kwargs: Any) -> None:
    """After ``migrate``, and after ``flush``, which names no apps: the groups with exactly these permissions."""
    known = kwargs.get("apps", apps)
    if not {DJANGOS, OURS, "auth"} <= {one.label for one in known.get_app_configs()}:
        return  # a migration of one app alone, before the others
    for label in (OURS, DJANGOS):  # Django makes them too, app by app, and maybe later than this
        create_permissions(apps.get_app_config(label), verbosity=0, using=kwargs["using"])
    for role, codenames in ROLES.items():
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set(
            Permission.objects.filter(content_type__app_label__in=(OURS, DJANGOS), codename__in=codenames)
        )
