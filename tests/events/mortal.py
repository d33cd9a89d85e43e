"""Workers to be killed: a process that forks the embedded worker anew for every SIGUSR1.

Forking costs milliseconds where a start costs a second. Each worker prints its pid. The argument is the lease in
seconds: a test has no minute to wait for it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import timedelta
from typing import NoReturn

import django

django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from elicit_flows.events import webhooks
from elicit_flows.jobs import worker


def live() -> NoReturn:
    embedded = worker.Embedded()
    embedded.start()
    print("pid", os.getpid(), flush=True)
    threading.Event().wait()  # until it is killed
    os._exit(0)


def main() -> NoReturn:
    webhooks.LEASE = timedelta(seconds=float(sys.argv[1]))
    worker.POLL = 0.1
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who was killed is gone at once
    print("ready", flush=True)
    while True:
        signal.sigwait({signal.SIGUSR1})
        if not os.fork():
            live()


if __name__ == "__main__":
    main()
