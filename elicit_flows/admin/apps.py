from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class OperatorsConfig(AdminConfig):
    """Django's admin with our site."""

    default_site = "elicit_flows.admin.site.OperatorsSite"
