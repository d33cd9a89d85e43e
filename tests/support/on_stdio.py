"""Starts a Python program for whoever talks with it on its standard input and output, forked as in forking.py.

    python -S -m tests.support.on_stdio SOCKET -m module …

A client that starts its server by itself gets this as the command, with all else unchanged. It ends as the program
does, and passes on what it is asked to end by.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.support.forking import ForkServer

AS_LONG_AS_IT_RUNS = 24 * 3600.0  # seconds
PASSED_ON = {signal.SIGTERM, signal.SIGINT}


def arguments(server: ForkServer, of: Sequence[str]) -> list[str]:
    """Those that ``python`` is given to run ``of``, which begins as ``-m module``."""
    return ["-S", "-m", "tests.support.on_stdio", str(server.path), *of]


def main() -> None:
    # Whoever reads what the program says may ask for its end before the next lines have run.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    fork = ForkServer(Path(sys.argv[1])).fork(sys.argv[2:], os.environ, Path.cwd(), 1, 2, given=0)

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(fork.pid, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    # Both ends are the program's alone: when it closes its output, nobody holds it open.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    status = fork.wait(AS_LONG_AS_IT_RUNS)
    if status < 0:
        if -status in PASSED_ON:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    main()
