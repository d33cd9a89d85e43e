"""Programs forked from a process that has everything loaded, instead of a new Python for each: see fork_server.py."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tests.support import fork_server


class Fork:
    """As much of ``subprocess.Popen`` as a test needs, for a process whose parent is the fork server."""

    def __init__(self, at: ForkServer, pid: int, stdin: IO[bytes] | None) -> None:
        self._at = at
        self.pid = pid
        self.stdin = stdin
        self.returncode: int | None = None
        self._end = os.pidfd_open(pid)  # readable when it has ended; its number stays taken until it is reaped

    def ended(self, timeout: float = 0.0) -> bool:
        """Whether it has ended, reaped or not."""
        if self.returncode is not None:
            return True
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        return bool(poll.poll(timeout * 1000))

    def poll(self) -> int | None:
        if self.returncode is None and self.ended():
            self._reap()
        return self.returncode

    def wait(self, timeout: float = 60.0) -> int:
        if not self.ended(timeout):
            raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout)
        if self.returncode is None:
            self._reap()
        assert self.returncode is not None
        return self.returncode

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _reap(self) -> None:
        self.returncode = self._at.status(self.pid)
        os.close(self._end)


class ForkServer:
    """The server that listens at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fork(
        self, arguments: Sequence[str], env: Mapping[str, str], folder: Path, output: int, error: int, *,
        given: int | None = None, outlives: bool = False,
    ) -> Fork:  # fmt: skip
        """Becomes ``python ARGUMENTS``. Its input is ``given``, or ours to close; one that ``outlives`` us has the
        server's.
        """
        request = {"arguments": list(arguments), "environment": dict(env), "folder": str(folder)}
        if outlives:
            return Fork(self, self._ask(request, output, error)["pid"], None)
        if given is not None:
            return Fork(self, self._ask(request, output, error, given)["pid"], None)
        reading, writing = os.pipe()
        try:
            pid = self._ask(request, output, error, reading)["pid"]
        finally:
            os.close(reading)
        return Fork(self, pid, os.fdopen(writing, "wb"))

    def status(self, pid: int) -> int:
        """How a process ended, which has."""
        status = self._ask({"reap": pid})["status"]
        assert status is not None, f"{pid} runs"
        return int(status)

    def _ask(self, request: dict[str, Any], *files: int) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            _connect(connection, self.path)
            socket.send_fds(connection, [json.dumps(request).encode()], list(files))
            answer = connection.recv(fork_server.LONGEST)
        if not answer:
            raise RuntimeError(f"the fork server at {self.path} is gone")
        found: dict[str, Any] = json.loads(answer)
        return found


def _connect(connection: socket.socket, path: Path) -> None:
    """It listens as soon as it is there, a moment after it was started."""
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return connection.connect(str(path))
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens at {path}")
        time.sleep(0.01)
