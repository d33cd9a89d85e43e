from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings

from elicit_flows import catalogue
from elicit_flows.lib import http


class ElicitFlowsConfig(AppConfig):
    name = "elicit_flows"
    label = "elicit_flows"
    verbose_name = "Elicit Flows"

    def ready(self) -> None:
        from elicit_flows import checks, hints  # noqa: PLC0415  they need the models to be loaded
        from elicit_flows.queue import bell  # noqa: PLC0415

        own = frozenset() if settings.ELICIT_ALLOW_LOOPBACK else frozenset(settings.ALLOWED_HOSTS[:1])
        http.configure(http.Policy(allow_loopback=settings.ELICIT_ALLOW_LOOPBACK, own_hosts=own))
        catalogue.configure(settings.ELICIT_CATALOGUE)
        checks.register_all()
        if settings.CELERY_BROKER_URL:
            bell.work_listeners.append(hints.hint_celery)
