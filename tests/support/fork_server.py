"""A process that has the libraries loaded and forks the programs of the tests: loading takes seconds, forking none.

    python -m tests.support.fork_server SOCKET [--service | MODULE …]

With ``--service`` it has loaded the service too, under the environment that it was started with. A Python with other
libraries is told which modules to load instead. What runs in the
fork is the program, unchanged: ``manage.py …`` or ``-m module …``. ``forking.py`` holds the other end. The server
ends when its standard input does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 1 << 20  # bytes of a request: the environment of a process is the most of it
# What takes long to import and asks for no setting while it is imported.
LIBRARIES = (
    "anyio", "asyncio", "authlib.integrations.base_client", "celery.app", "celery.bin.celery",
    "cryptography.hazmat.primitives.asymmetric.ec", "cryptography.x509", "django.core.management", "django.db.models",
    "django.forms", "django.http", "django.template", "django.test.signals", "django.views", "httpx2", "httpcore2",
    "idna", "joserfc", "kombu", "logging.config", "prometheus_client", "psycopg", "pydantic", "redis.asyncio",
    "requests", "stripe", "uvicorn", "uvicorn.loops.auto", "uvloop", "webauthn", "whitenoise",
    # What the examples of the SDK stand on.
    "acp", "mcp.server.mcpserver", "starlette.applications", "tesseron", "websockets.asyncio.server",
)  # fmt: skip


@dataclass
class Program:
    """What the fork is to become: the arguments after ``python``."""

    arguments: list[str]
    environment: dict[str, str]

    def become(self) -> None:
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        module = self.arguments[0] == "-m"
        given = [path for path in self.environment.get("PYTHONPATH", "").split(os.pathsep) if path]
        first = Path.cwd() if module else Path(self.arguments[0]).resolve().parent
        # Where this process was started is the first of its own.
        sys.path[:] = [str(first), *given, *sys.path[1:]]
        if module:
            sys.argv = self.arguments[1:]
            runpy.run_module(self.arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = self.arguments
            runpy.run_path(self.arguments[0], run_name="__main__")

    def status(self) -> int:
        """What it ended with, having become. An exception is Python's own to report, and so is an exit with words."""
        try:
            self.become()
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                return ended.code or 0
            raise
        return 0


class ForkServer:
    """Answers one request for each connection, one after the other; a fork leaves ``serve`` with its program."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen(128)
        self._alive = os.pipe()  # whoever has only the reading end learns that this process is gone
        self._lasting: list[int] = []

    def serve(self) -> Program | None:
        """The program to become, in a fork; None at the end of the server itself."""
        while True:
            ready, _, _ = select.select([self._listener.fileno(), 0], [], [])
            if 0 in ready and not os.read(0, 1024):
                self._end()
                return None
            if self._listener.fileno() in ready:
                connection, _ = self._listener.accept()
                with connection:
                    program = self._answer(connection)
                if program:
                    return program

    def _end(self) -> None:
        """What lives as long as this server sees that its input has ended, and tidies up."""
        os.close(self._alive[1])
        for pid in self._lasting:
            os.waitpid(pid, 0)

    def _answer(self, connection: socket.socket) -> Program | None:
        message, files, _, _ = socket.recv_fds(connection, LONGEST, 3)
        if not message:
            return None
        request = json.loads(message)
        program = None
        try:
            if "reap" in request:
                answer: dict[str, Any] = {"status": _status(request["reap"])}
            else:
                pid, program = self._fork(request, files)
                answer = {"pid": pid}
        finally:
            for file in files:
                os.close(file)
        if program is None:
            with contextlib.suppress(BrokenPipeError):
                connection.send(json.dumps(answer).encode())
        return program

    def _fork(self, request: dict[str, Any], files: list[int]) -> tuple[int, Program | None]:
        """``files``: standard output and error and, but for one that is to live as long as this server, input."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            os.read(reading, 1)  # until the fork leads a group of its own, which is how it will be ended
            os.close(reading)
            if len(files) < 3:
                self._lasting.append(pid)
            return pid, None
        os.setsid()
        os.close(reading)
        os.close(writing)
        self._listener.close()
        output, error, given = [*files, self._alive[0]][:3]
        for file, standard in ((given, 0), (output, 1), (error, 2)):
            os.dup2(file, standard)
        for end in self._alive:
            os.close(end)
        os.chdir(request["folder"])
        return 0, Program(request["arguments"], request["environment"])


def _status(pid: int) -> int | None:
    """How it ended, negative for a signal; None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def load(service: bool, modules: Sequence[str] = LIBRARIES) -> None:
    for name in modules:
        importlib.import_module(name)
    if service:
        for name in ("config.asgi", "config.celery", "elicit_flows.management.commands.serve"):
            importlib.import_module(name)
        importlib.import_module("django.urls").get_resolver().url_patterns  # noqa: B018  loads every view
    assert threading.active_count() == 1, "a fork has one thread only: what the others do would be missing"
    gc.collect()
    gc.freeze()


def leave(status: int) -> None:
    """Ends as Python ends, but lets all objects be: to free those of the server takes a tenth of a second each time."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def main() -> None:
    server = ForkServer(sys.argv[1])
    service = "--service" in sys.argv
    load(service, LIBRARIES if service else sys.argv[2:] or LIBRARIES)
    program = server.serve()
    if program:
        leave(program.status())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
