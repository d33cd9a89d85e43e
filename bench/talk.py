"""Child processes that do what they are asked, a JSON line at a time: no measurement shares a GIL with another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tests.support.process import PROJECT, clean_env


class Peer:
    """A child running ``module``. It ends when its standard input does, so it never outlives the benchmarks."""

    def __init__(self, module: str, log: Path, env: Mapping[str, str] | None = None) -> None:
        self._module, self._log = module, log
        with log.open("ab") as errors:
            self._child = subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=clean_env(env),
                cwd=PROJECT,
                text=True,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def begin(self, do: str, **arguments: Any) -> Self:
        """Ask without waiting; ``finish`` brings the answer."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._child.stdin.flush()
        return self

    def finish(self) -> Any:
        """The answer to ``begin``. RuntimeError with the child's last words when it ended instead."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._module} ended\n{self._log.read_text(errors='replace')[-4000:]}")
        return json.loads(line)

    def call(self, do: str, **arguments: Any) -> Any:
        return self.begin(do, **arguments).finish()

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(**deeds: Callable[..., Any]) -> None:
    """The child's side: answer every line until there are no more."""
    for line in sys.stdin:
        ask = json.loads(line)
        print(json.dumps(deeds[ask.pop("do")](**ask)), flush=True)
