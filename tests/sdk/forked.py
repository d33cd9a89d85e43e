"""The SDK's service in a box as the tests start it: its programs are forked, and its tables are copied."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from elicit_flows.sdk.testing import Service
from tests.support.process import Loaded, guard, run


class ForkedService(Service):
    """What users of the SDK get, a new Python for each program, is tried in tests/sdk/testing."""

    def __init__(self, home: Path, tables: Path) -> None:
        super().__init__(home)
        self._loaded = Loaded(home)
        shutil.copy(tables, home / "elicit.sqlite3")

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, *self._installed.command("", self._env, self._home, *arguments)[1:]]

    def _run(self, *arguments: str) -> None:
        ran = run(self._command(*arguments), self._env, self._loaded(self._env), self._home)
        assert ran.returncode == 0, f"{' '.join(arguments)}\n{ran.stdout}{ran.stderr}"

    def _start(self, name: str) -> None:
        command = self._command(*self._commands[name])
        with self._log(name).open("ab") as log:
            fork = self._loaded(self._env).fork(command[1:], self._env, self._home, log.fileno(), log.fileno())
        guard(fork.pid)
        assert fork.stdin is not None
        fork.stdin.close()
        self._running[name] = fork  # type: ignore[assignment]  # all that is asked of it there it can

    def stop(self) -> None:
        super().stop()
        self._loaded.close()
