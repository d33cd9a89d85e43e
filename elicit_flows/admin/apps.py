"""Django's admin app, with the site and the pages of Elicit Flows.

The pages are not imported with the app: most processes never show them, and they and their forms take 7 MB.
"""

from __future__ import annotations

from typing import Any

from django.contrib.admin.apps import SimpleAdminConfig
from django.core.checks import CheckMessage, Tags, register
from django.db.models.signals import post_migrate


class OperatorsConfig(SimpleAdminConfig):
    default_site = "elicit_flows.admin.site.OperatorsSite"

    def ready(self) -> None:
        super().ready()
        # Imported here, since it needs the models, which are not loaded when Django imports this module.
        from elicit_flows.admin import roles  # noqa: PLC0415

        post_migrate.connect(roles.create_groups, sender=self)
        register(Tags.admin)(check_pages)


def check_pages(**kwargs: Any) -> list[CheckMessage]:
    """Django checks the sites that are loaded."""
    from django.contrib.admin.checks import check_admin_app  # noqa: PLC0415

    from elicit_flows.admin import registry  # noqa: F401, PLC0415

    return check_admin_app(**kwargs)
