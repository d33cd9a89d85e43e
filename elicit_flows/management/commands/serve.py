"""The service alone: pages, API and waiting in one process, and the embedded worker when no broker is set."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.conf import settings
from django.core.checks import Tags
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from elicit_flows import vault
from elicit_flows.lib.headers_in_time import HeadersInTime

# Longer than proxies (60 s at most of them) and clients keep a silent connection: whoever hangs up second is never cut
# off in the middle of asking.
KEEP_ALIVE_SECONDS = 75


class Command(BaseCommand):
    help = "Serve Elicit Flows."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        self._check_database()
        try:
            vault.verify_keys()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        self._announce(host, port)
        # Proxies are trusted only where the operator names them: a forged X-Forwarded-For must not pass the limits.
        proxies = os.environ.get("FORWARDED_ALLOW_IPS")
        uvicorn.run(
            "config.asgi:application",
            host=host,
            port=port,
            http=HeadersInTime,
            backlog=4096,
            access_log=False,
            server_header=False,
            log_config=None,
            log_level="warning",
            proxy_headers=proxies is not None,
            forwarded_allow_ips=proxies,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=10,
        )
        sys.exit(0)

    def _check_database(self) -> None:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError("The database is not up to date: run `manage.py migrate` first.")
        self.check(tags=[Tags.database], databases=["default"])

    def _announce(self, host: str, port: int) -> None:
        worker = "Celery" if settings.CELERY_BROKER_URL else "embedded"
        self.stderr.write(
            f"Elicit Flows on http://{host}:{port}, public as {settings.ELICIT_PUBLIC_URL}; "
            f"admits {settings.ELICIT_MAX_WAITERS} waiting requests; worker: {worker}"
        )
        if settings.ELICIT_ALLOW_LOOPBACK:
            self.stderr.write("ELICIT_ALLOW_LOOPBACK is on: for development and tests only.")
