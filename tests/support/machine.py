"""How long things may take on this machine: it may be slow, and it may have other work."""

from __future__ import annotations

import os
from pathlib import Path

LOAD = Path("/proc/loadavg")  # Linux
MOST = 5.0  # beyond that a limit would say nothing


def slowness() -> float:
    """How many times as long as by itself something may take now: as many as want each core, or did for a minute."""
    wanting = os.getloadavg()[0]
    if LOAD.exists():  # the mean rises slowly when others begin
        wanting = max(wanting, float(LOAD.read_text().split()[3].partition("/")[0]))
    return min(MOST, max(1.0, wanting / (os.cpu_count() or 1)))


def within(seconds: float) -> float:
    """The most that something may take which takes less than ``seconds`` by itself."""
    return seconds * slowness()
