"""Run background jobs in a process of their own: all of them or some, without Celery."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections

from elicit_flows import checks, vault
from elicit_flows.job_table import BY_NAME
from elicit_flows.jobs import hint_listener
from elicit_flows.jobs.worker import Embedded
from elicit_flows.lib import alive
from elicit_flows.management.job_names import LIST, job_names

LIFE_EVERY = 2.0  # seconds between signs of life


class Command(BaseCommand):
    help = (
        "Run background jobs in a separate process, without Celery. After SIGTERM it finishes the running jobs, then "
        "stops."
    )
    requires_system_checks = checks.SETTINGS_CHECKS

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--jobs",
            type=job_names,
            default=list(BY_NAME),
            metavar="NAMES",
            help=f"the jobs, separated by commas; default: all of them: {LIST}",
        )

    def handle(self, *args: Any, jobs: list[str], **options: Any) -> None:
        try:
            checks.require_schema()
            vault.verify_keys()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"DATABASE_URL: the database does not answer ({error}).") from error
        connections.close_all()
        for sentence in checks.outgoing_requests():
            self.stderr.write(sentence)
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        worker = Embedded(jobs)
        worker.start()
        hint_listener.follow_in_thread(worker.threads, stopping)
        self.stderr.write(f"Jobs: {', '.join(jobs)}; ready.")
        while not stopping.wait(LIFE_EVERY):
            if worker.alive:
                alive.touch(settings.ELICIT_ALIVE_FILE)
        worker.stop()
