"""Ends what a test run started, also when the run itself was killed.

    python guardian.py [FOLDER]

Runs as its own process. Reads "pid start-time" lines from standard input; when the input ends (the run is over,
however it ended) whatever of that is still alive is asked to end, and killed two seconds later. Then FOLDER is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path


def started_at(pid: int) -> str:
    """The start time of a process in clock ticks since boot, "" when there is none: a pid alone may be used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def end(pids: list[int], how: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, how)


def main() -> None:
    watched = dict(line.split() for line in sys.stdin if len(line.split()) == 2)

    def alive() -> list[int]:
        return [int(pid) for pid, start in watched.items() if started_at(int(pid)) == start]

    end(alive(), signal.SIGCONT)
    end(alive(), signal.SIGTERM)
    deadline = time.monotonic() + 2
    while alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    end(alive(), signal.SIGKILL)
    for folder in sys.argv[1:]:
        # The servers that all workers shared end by themselves, and may write until then.
        deadline = time.monotonic() + 10
        while Path(folder).exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
