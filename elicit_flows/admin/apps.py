from __future__ import annotations

from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class OperatorsConfig(AdminConfig):
    """Django's admin with our site and our pages."""

    default_site = "elicit_flows.admin.site.OperatorsSite"

    def ready(self) -> None:
        super().ready()
        from elicit_flows.admin import registry, roles  # noqa: F401, PLC0415  the models have to be loaded

        post_migrate.connect(roles.make, sender=self)
