from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.utils.module_loading import import_string

from elicit_flows import catalogue, http
from elicit_flows.lib import clock


class ElicitFlowsConfig(AppConfig):
    name = "elicit_flows"
    label = "elicit_flows"
    verbose_name = "Elicit Flows"

    def ready(self) -> None:
        from elicit_flows import checks  # noqa: PLC0415  they need the models to be loaded
        from elicit_flows.events import wakeups  # noqa: PLC0415

        # Where requests to others' servers may go, and whose certificates they accept.
        http.configure(
            http.Policy(
                allow_loopback=settings.ELICIT_ALLOW_LOOPBACK,
                own_hosts=frozenset(() if settings.ELICIT_ALLOW_LOOPBACK else settings.ALLOWED_HOSTS[:1]),
                networks=settings.ELICIT_ALLOWED_NETWORKS,
                proxy=settings.ELICIT_EGRESS_PROXY,
            )
        )
        if settings.ELICIT_CA_FILE:
            http.trust(settings.ELICIT_CA_FILE)
        connection_created.connect(clock.measure, dispatch_uid="clock")
        catalogue.configure(settings.ELICIT_CATALOGUE)
        checks.register_all()
        _keep_to_ourselves(settings.DATABASES["default"])
        if settings.CELERY_BROKER_URL:
            from elicit_flows.jobs import celery_hints  # noqa: PLC0415  Celery takes long to import

            import_string("config.celery.app")  # the application that publishes the hints
            wakeups.work_listeners.append(celery_hints.hint_celery)


def _keep_to_ourselves(database: dict[str, Any]) -> None:
    """An SQLite file is readable by nobody else. It is made here, before SQLite would make it for all to read; the
    files that SQLite puts beside it get the same mode. Where it is somebody else's, ``check --deploy`` says so.
    """
    if not str(database["ENGINE"]).endswith("sqlite3"):
        return
    path = Path(str(database["NAME"]))
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(OSError):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
