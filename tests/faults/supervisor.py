"""Runs the web process and starts it again whenever it is killed, as a container's restart policy does.

Everything is loaded once and each start is a copy of that, so that a sweep over crash points spends its seconds on
crashes. What runs in the copy is ``manage.py serve``, unchanged.
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

STARTED = "supervised web process"


def main(port: str) -> int:
    get_resolver().url_patterns  # noqa: B018  loads every view
    while True:
        child = os.fork()
        if child == 0:
            call_command("serve", "--port", port)
        print(STARTED, child, flush=True)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
