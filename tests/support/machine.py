"""What this machine has: how long things may take, since it may be slow or have other work, and room in memory."""

from __future__ import annotations

import os
from pathlib import Path

LOAD = Path("/proc/loadavg")  # Linux
MOST = 5.0  # beyond that a limit would say nothing
MEMORY = Path("/dev/shm")  # Linux: files that lie in memory
MEMORY_INFO = Path("/proc/meminfo")
ROOM = 8 << 30  # bytes, free and twice what the largest run has taken


def slowness() -> float:
    """How many times as long as by itself something may take now: as many as want each core, or did for a minute."""
    wanting = os.getloadavg()[0]
    if LOAD.exists():  # the mean rises slowly when others begin
        wanting = max(wanting, float(LOAD.read_text().split()[3].partition("/")[0]))
    return min(MOST, max(1.0, wanting / (os.cpu_count() or 1)))


def within(seconds: float) -> float:
    """The most that something may take which takes less than ``seconds`` by itself."""
    return seconds * slowness()


def memory_folder() -> Path | None:
    """Where temporary files lie in memory: a database is copied there in an eighth of the time.

    None where there is no such folder, programs may not run from it, it has too little room, or TMPDIR says where.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK | os.X_OK) or not MEMORY_INFO.exists():
        return None
    folder = os.statvfs(MEMORY)
    available = next(line for line in MEMORY_INFO.read_text().splitlines() if line.startswith("MemAvailable:"))
    room = min(folder.f_bavail * folder.f_frsize, int(available.split()[1]) * 1024)
    return None if folder.f_flag & os.ST_NOEXEC or room < ROOM else MEMORY
