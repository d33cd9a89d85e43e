"""The four roles of operators, as Django groups that each ``migrate`` creates and restores.

A viewer sees the state of the service, and no people. An operator sees people, and acts. An administrator also
configures who signs people in and where secrets are sent (threats T131, T132). An auditor sees and exports everything,
and changes nothing. Superusers, which ``createsuperuser`` makes, may do all.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.http import HttpRequest

APP, DJANGO_ADMIN = "elicit_flows", "admin"
SEE_PEOPLE, EXPORT, SWITCH = f"{APP}.see_people", f"{APP}.export_rows", f"{APP}.switch_rows"
END_SESSIONS = f"{APP}.end_sessions"
CHANGE_IDENTITIES = f"{APP}.change_identityprovider"  # whoever may do this can sign in as anybody
VIEWABLE = (
    "agent", "authorization", "brand", "cancellation", "checkout", "connection", "delivery", "elicitation", "event",
    "identityprovider", "mandate", "mandatecharge", "notification", "payment", "paymentaccount", "provider", "refund",
    "pricechange", "renewal", "spendlimit", "subscription",
)  # fmt: skip
CONFIGURED = ("agent", "member", "spendlimit")
# They decide who people are, where secrets go, and what people take the service for.
TRUSTED = ("brand", "identityprovider", "paymentaccount", "provider")
ACTED_ON = ("connection", "delivery", "elicitation", "payment")  # with revoke, send again, cancel and refund

_VIEWER = {f"view_{name}" for name in VIEWABLE}
_AUDITOR = _VIEWER | {"see_people", "export_rows", "view_logentry", "view_member"}
_OPERATOR = {f"{verb}_{name}" for verb in ("add", "change") for name in CONFIGURED}
_OPERATOR |= {f"change_{name}" for name in ACTED_ON} | {"delete_spendlimit"}
_OPERATOR |= _AUDITOR | {"switch_rows", "end_sessions"}
_ADMINISTRATOR = _OPERATOR | {f"{verb}_{name}" for verb in ("add", "change") for name in TRUSTED}
ROLES = {"viewer": _VIEWER, "operator": _OPERATOR, "administrator": _ADMINISTRATOR, "auditor": _AUDITOR}


def may(request: HttpRequest, permission: str) -> bool:
    """Whether the operator has the permission, such as "elicit_flows.see_people"."""
    return bool(request.user.has_perm(permission))


def create_groups(sender: AppConfig, **kwargs: Any) -> None:
    """Called after ``migrate`` and ``flush``: give the groups exactly these permissions."""
    known = kwargs.get("apps", apps)  # "flush" sends no apps
    if not {DJANGO_ADMIN, APP, "auth"} <= {config.label for config in known.get_app_configs()}:
        return  # only one app was migrated, and the tables of the others do not exist yet
    # Django creates the permissions too, app by app, and maybe only after this.
    for label in (APP, DJANGO_ADMIN):
        create_permissions(apps.get_app_config(label), verbosity=0, using=kwargs["using"])
    for role, codenames in ROLES.items():
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set(
            Permission.objects.filter(content_type__app_label__in=(APP, DJANGO_ADMIN), codename__in=codenames)
        )
