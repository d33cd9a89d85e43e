"""Celery, where a broker is set: it brings hints; the rows say what is due."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from celery import Celery
from celery.signals import worker_init
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("elicit_flows")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["elicit_flows"])


@worker_init.connect
def check_vault(**_: Any) -> None:
    """A worker without the right keys stops before it writes anything, as the server does."""
    from elicit_flows import vault  # noqa: PLC0415  the apps are loaded only now

    try:
        vault.verify_keys()
    except ImproperlyConfigured as error:
        logging.getLogger(__name__).critical("%s", error)
        sys.exit(1)
