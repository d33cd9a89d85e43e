"""Run the service: pages, API and streams in one process, and the background jobs that are chosen or, if no broker is
set, all of them.
"""

from __future__ import annotations

import contextlib
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

import uvicorn
from django.conf import settings
from django.core.checks import Tags
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.module_loading import import_string

from elicit_flows import checks, vault
from elicit_flows.api import metrics_server
from elicit_flows.lib.http_server import GracefulServer, LimitedHeadProtocol
from elicit_flows.management.job_names import ALL, LIST, NONE, server_jobs

# Longer than proxies (60 s with most of them) and clients keep an idle connection. If the server closed it first, a
# request that is sent at that moment would fail.
KEEP_ALIVE_SECONDS = 75


def _port(said: str) -> int:
    if not said.isdecimal() or int(said) > 65535:
        raise ArgumentTypeError(f"{said!r} is no port: a whole number from 0 to 65535")
    return int(said)


class Command(BaseCommand):
    help = "Run the web server. Without a message broker it runs the background jobs, too."
    requires_system_checks = checks.SETTINGS_CHECKS

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=_port, default=8000)
        parser.add_argument(
            "--jobs",
            type=server_jobs,
            metavar="NAMES",
            help=f"the background jobs of this process, separated by commas, or {ALL}, or {NONE}; without this {NONE} "
            f"if a broker is set, and otherwise {ALL}. The jobs are {LIST}",
        )

    def handle(self, *args: Any, host: str, port: int, jobs: list[str] | None, **options: Any) -> None:
        try:
            checks.require_schema()
            self.check(tags=[Tags.database], databases=["default"])
            vault.verify_keys()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"DATABASE_URL: the database does not answer ({error}).") from error
        self._say(
            f"Elicit Flows on http://{host}:{port}, public as {settings.ELICIT_PUBLIC_URL}; "
            f"accepts {settings.ELICIT_MAX_WAITERS} waiting requests; worker: {self._worker(jobs)}"
        )
        if settings.ELICIT_TRUSTED_PROXIES:
            self._say(f"X-Forwarded-For is trusted from {', '.join(settings.ELICIT_TRUSTED_PROXIES)}.")
        for sentence in checks.outgoing_requests():
            self._say(sentence)
        if settings.ELICIT_ALLOW_LOOPBACK:
            self._say("ELICIT_ALLOW_LOOPBACK is on: for development and tests only.")
        if settings.ELICIT_METRICS_ADDRESS:
            self._serve_metrics(*settings.ELICIT_METRICS_ADDRESS)
        # Without this setting uvicorn trusts X-Forwarded-For from any proxy on this machine.
        proxies = settings.ELICIT_TRUSTED_PROXIES
        application = import_string("config.asgi.application")
        if jobs is not None:
            application.do_jobs(jobs)
        config = uvicorn.Config(
            application,
            host=host,
            port=port,
            http=LimitedHeadProtocol,
            backlog=4096,
            access_log=False,
            server_header=False,
            log_config=None,
            log_level="warning",
            ws="none",
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=10,
        )
        server = GracefulServer(config)
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again after its shutdown
            server.run()
        sys.exit(0 if server.started else 1)

    def _worker(self, jobs: list[str] | None) -> str:
        """Who does the background jobs, as far as this process knows."""
        if jobs is None:
            return "Celery" if settings.CELERY_BROKER_URL else "embedded"
        return f"embedded, for {', '.join(jobs)}" if jobs else NONE

    def _say(self, sentence: str) -> None:
        """Write it where logs are written, which may be full: that is no reason not to serve."""
        with contextlib.suppress(OSError):
            self.stderr.write(sentence)

    def _serve_metrics(self, host: str, port: int) -> None:
        try:
            metrics_server.start(host, port)
        except OSError as error:
            raise CommandError(f"ELICIT_METRICS_ADDRESS: {host}:{port} cannot be used ({error.strerror}).") from error
        self._say(f"/metrics and /incidents on http://{host}:{port}, and not on the public port")
