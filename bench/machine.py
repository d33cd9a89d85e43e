"""What the numbers were taken on, and what a process has used of it."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of one process, threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK


def memory(pid: int) -> int:
    """Resident bytes."""
    return _status(pid, "VmRSS") * 1024


def threads(pid: int) -> int:
    return _status(pid, "Threads")


def _status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def describe(postgres: Path | None, redis: Path | None) -> dict[str, str]:
    """Date, machine and versions: the head of the table."""
    with Path("/proc/meminfo").open() as info:
        total = int(info.readline().split()[1]) / 1024 / 1024
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{_model()}, {os.cpu_count()} cores",
        "memory": f"{total:.0f} GiB",
        "kernel": platform.release(),
        "Python": platform.python_version(),
        "PostgreSQL": _version(postgres / "postgres") if postgres else "none",
        "Redis": _version(redis) if redis else "none",
    }


def _model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    words = [word.removeprefix("v=") for word in said.split()]
    return next((word for word in words if word[:1].isdigit()), said.strip())
