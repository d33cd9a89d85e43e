from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class OperatorsConfig(AdminConfig):
    """Django's admin with our site and our pages."""

    default_site = "elicit_flows.admin.site.OperatorsSite"

    def ready(self) -> None:
        super().ready()
        from elicit_flows.admin import registry  # noqa: F401, PLC0415  the models have to be loaded
