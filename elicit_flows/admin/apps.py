"""Django's admin app, with the site and the pages of Elicit Flows."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AdminConfig):
    default_site = "elicit_flows.admin.site.OperatorsSite"

    def ready(self) -> None:
        super().ready()
        # Imported here, since both need the models, which are not loaded when Django imports this module.
        from elicit_flows.admin import registry, roles  # noqa: F401, PLC0415

        post_migrate.connect(roles.create_groups, sender=self)
