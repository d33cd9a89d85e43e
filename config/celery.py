"""The Celery application, used where a broker is configured. Its messages only say that something may be due."""

from __future__ import annotations

import logging
import os
import sys
from functools import cached_property, partial
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent, worker_init, worker_process_shutdown, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections
from kombu.entity import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES

from elicit_flows.job_table import JOBS
from elicit_flows.lib import alive

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "config.broker:Transport")


class App(Celery):
    """Its worker and beat print no banner: if the log's disk is full, printing ends the process."""

    @cached_property
    def Worker(self) -> Any:  # noqa: N802  Celery's name
        return partial(_quietly, super().Worker)

    @cached_property
    def Beat(self) -> Any:  # noqa: N802
        return partial(_quietly, super().Beat)


def _quietly(program: Any, *args: Any, **options: Any) -> Any:
    return program(*args, **{**options, "quiet": True})


app = App("elicit_flows")
try:
    app.config_from_object("django.conf:settings", force=True, namespace="CELERY")  # now, and not when first used
except ImproperlyConfigured as wrong:  # its sentence says what is wrong, as with manage.py
    sys.exit(str(wrong))
# One waiting message per queue is enough: RabbitMQ drops the others, and with Redis celery_hints.py does not publish
# them.
app.conf.task_queues = [
    Queue(job.name, Exchange("elicit"), routing_key=job.name, no_ack=True, queue_arguments={"x-max-length": 1})
    for job in JOBS
]
app.autodiscover_tasks(["elicit_flows.jobs"])


@worker_init.connect
def check_database(**_: Any) -> None:
    """Refuse to start on an older schema, without the right vault keys, or without a database that says which they are,
    as the server does. Celery logs any other error and starts.
    """
    from elicit_flows import checks, vault  # noqa: PLC0415  Django's apps are not loaded earlier

    try:
        checks.require_schema()
        vault.verify_keys()
    except ImproperlyConfigured as error:
        logging.getLogger(__name__).critical("%s", error)
        sys.exit(1)
    except DatabaseError as error:
        logging.getLogger(__name__).critical("DATABASE_URL: the database does not answer (%s).", error)
        sys.exit(1)
    for sentence in checks.outgoing_requests():
        logging.getLogger(__name__).warning("%s", sentence)
    connections.close_all()


@heartbeat_sent.connect
def show_life(**_: Any) -> None:
    alive.touch(settings.ELICIT_ALIVE_FILE)


@worker_shutting_down.connect
def begin_nothing_more(**_: Any) -> None:
    from elicit_flows.jobs import tasks  # noqa: PLC0415

    for job in tasks.THREADS.values():
        job.stop()


@worker_process_shutdown.connect
@worker_shutdown.connect
def finish_jobs(**_: Any) -> None:
    """Wait until calls in progress have ended and are recorded, for worker.STOP_SECONDS at most."""
    from elicit_flows.jobs import tasks, worker  # noqa: PLC0415

    worker.stop(tasks.THREADS.values())
