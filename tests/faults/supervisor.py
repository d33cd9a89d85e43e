"""Runs the web process, or a worker, and starts it again whenever it is killed, as a container's restart policy does.

Everything is loaded once and each start is a copy of that, so that a sweep over crash points spends its seconds on
crashes. What runs in the copy is ``manage.py serve``, or Celery's worker as one process, unchanged.
"""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from django.core.management import call_command
from django.urls import get_resolver

import config.asgi  # noqa: F401  what serve would load
from config.celery import app

STARTED = "supervised process"
WORKER = "worker"


def main(what: str) -> int:
    """``what``: the port to serve, or WORKER."""
    get_resolver().url_patterns  # noqa: B018  loads every view
    while True:
        child = os.fork()
        if child == 0:
            run(what)
        print(STARTED, child, flush=True)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)


def run(what: str) -> None:
    if what == WORKER:
        # There is no other worker to be greeted, for whose answer it would wait a second at each start.
        app.worker_main(["worker", "--pool=solo", "--loglevel=INFO", "--without-mingle", "--without-gossip"])
    else:
        call_command("serve", "--port", what)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
