"""Celery, where a broker is set: it brings hints; the rows say what is due."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("elicit_flows")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["elicit_flows"])
