"""The service for tests: ``manage.py serve`` of a clone or an image, and the sandbox's providers, with data in a folder
of their own.
"""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.sync import SyncElicit
from elicit_flows.sdk.testing.installations import installation
from elicit_flows.sdk.testing.user import ScriptedUser

READY_SECONDS = 60.0
GRACE_SECONDS = 3.0
MOST_STARTS = 3  # each on other ports
EVERY_SECONDS = 0.05


def free_port() -> int:
    """A free port below those that the kernel gives to clients, so that a restarted service gets the same one again."""
    while True:
        with suppress(OSError), socket.create_server(("127.0.0.1", 10_000 + secrets.randbelow(22_000))) as found:
            return int(found.getsockname()[1])


class PortTaken(RuntimeError):
    """The service or the sandbox did not start, because its port is in use."""


class Service:
    """A running service with its sandbox; use it in a ``with`` block.

    ``home`` is an empty folder for its data. ``url`` and ``api_key`` are for an agent. ``sandbox_url`` is the issuer of
    its users, and the address of Acme's API. Raises RuntimeError if there is no clone or image, or it does not start.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._installed = installation()
        self.api_key = f"test_{secrets.token_urlsafe(32)}"
        self._env = {
            "DATABASE_URL": f"sqlite:///{self._home}/elicit.sqlite3",
            "ELICIT_ALLOW_LOOPBACK": "1",
            "ELICIT_VAULT_KEYS": "k1:" + base64.b64encode(os.urandom(32)).decode(),
            "SECRET_KEY": secrets.token_urlsafe(48),
            "PYTHONUNBUFFERED": "1",
            **self._installed.env,
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._choose_ports()

    def _choose_ports(self) -> None:
        port, sandbox_port = free_port(), free_port()
        self.url, self.sandbox_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox_port}"
        self._env["ELICIT_PUBLIC_URL"] = self.url
        self._commands = {
            "service": ["manage.py", "serve", "--port", str(port)],
            "sandbox": [
                "-m", "sandbox", "--port", str(sandbox_port), "--service-url", self.url, "--key-file", "var/demo.key",
            ],
        }  # fmt: skip
        self._ready = {
            "service": f"{self.url}/readyz", "sandbox": f"{self.sandbox_url}/.well-known/openid-configuration",
        }  # fmt: skip

    def __enter__(self) -> Self:
        for _ in range(MOST_STARTS - 1):
            try:
                return self._begin()
            except PortTaken:  # by another program, since it was chosen
                self._choose_ports()
        return self._begin()

    def _begin(self) -> Self:
        (self._home / "var").mkdir(exist_ok=True)
        (self._home / "var/demo.key").write_text(self.api_key, encoding="utf-8")
        urls = ["--service-url", self.url, "--sandbox-url", self.sandbox_url]
        self._run("-m", "sandbox.configure", *urls, "--out", "demo.toml")
        self._run("manage.py", "migrate", "--skip-checks", "--verbosity", "0")
        self._run("manage.py", "apply", "--skip-checks", "demo.toml")
        with ExitStack() as otherwise:
            otherwise.callback(self.stop)
            for name in self._commands:
                self._start(name)
            for name in self._commands:
                self._wait_for(name)
            otherwise.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def elicit(self) -> Elicit:
        """A client of the service."""
        return Elicit(self.url, self.api_key)

    def sync_elicit(self) -> SyncElicit:
        """A client of the service without ``await``."""
        return SyncElicit(self.url, self.api_key)

    def user(self, name: str = "alice") -> ScriptedUser:
        """A user whom the agent may ask: alice or bob."""
        return ScriptedUser(self.sandbox_url, name)

    def crash(self) -> None:
        """Kill the service's process and start it again."""
        self._kill("service")
        self._start("service")
        self._wait_for("service")

    def stop(self) -> None:
        """Stop the service and the sandbox."""
        for process in self._running.values():
            process.terminate()
        for name, process in self._running.items():
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._kill(name)

    def _kill(self, name: str) -> None:
        self._installed.kill(name, self._running[name])
        self._running[name].wait()

    def _run(self, *arguments: str) -> None:
        command = self._installed.command("setup", self._env, self._home, *arguments)
        ran = subprocess.run(  # noqa: S603  our own commands
            command,
            cwd=self._home,
            env=self._installed.command_env(self._env),
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{self._installed.about}: {' '.join(arguments)}\n{ran.stdout}{ran.stderr}")

    def _start(self, name: str) -> None:
        command = self._installed.command(name, self._env, self._home, *self._commands[name])
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(  # noqa: S603  our own commands
                command,
                cwd=self._home,
                env=self._installed.command_env(self._env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _log(self, name: str) -> Path:
        return self._home / f"{name}.log"

    def _wait_for(self, name: str) -> None:
        end = time.monotonic() + READY_SECONDS
        while not _answers(self._ready[name]):
            if self._running[name].poll() is not None or time.monotonic() > end:
                said = self._log(name).read_text(encoding="utf-8", errors="replace")
                taken = "address already in use" in said.lower()
                raise (PortTaken if taken else RuntimeError)(
                    f"The {name} of {self._installed.about} did not start:\n{said}"
                )
            time.sleep(EVERY_SECONDS)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2, trust_env=False).is_success
    except httpx2.TransportError:
        return False
