"""Workers with a short lease, born and killed within milliseconds; see ``mortal.py``."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from pathlib import Path

from django.db import connection

from tests.support.process import Process, until


def database_url() -> str:
    """The address of the database that this test uses."""
    at = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{at['NAME']}"
    return f"postgres://{at['USER']}@{at['HOST']}:{at['PORT']}/{at['NAME']}"


class Lives:
    """``lease`` in seconds. They all log to the same file."""

    def __init__(self, home: Path, lease: float) -> None:
        env = {name: os.environ[name] for name in ("SECRET_KEY", "ELICIT_VAULT_KEYS", "DJANGO_SETTINGS_MODULE")}
        env |= {"DATABASE_URL": database_url(), "ELICIT_ALLOW_LOOPBACK": "1"}
        command = [sys.executable, "-m", "tests.events.mortal", str(lease)]
        self._process = Process(command, home / "workers.log", env=env)
        self._process.start()
        self._process.wait_for_output("ready")

    @property
    def log(self) -> str:
        return self._process.output()

    def born(self) -> int:
        """Starts a worker; its pid."""
        number = len(self._pids())
        os.kill(self._process.pid, signal.SIGUSR1)
        return self._process.wait_until(lambda: self._pids()[number:], "a worker lives")[0]

    def _pids(self) -> list[int]:
        return [int(pid) for pid in re.findall(r"^pid (\d+)$", self.log, re.MULTILINE)]

    def kill9(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{pid}").exists(), "the worker is gone")

    def pause(self, pid: int) -> None:
        """Returns when it has stopped."""
        os.kill(pid, signal.SIGSTOP)
        until(lambda: _state(pid) == "T", "the worker has stopped", every=0.001)

    def resume(self, pid: int) -> None:
        os.kill(pid, signal.SIGCONT)

    def wait_for_log(self, pattern: str) -> None:
        self._process.wait_for_output(pattern)

    def end(self) -> None:
        self._process.kill9()


def _state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""
