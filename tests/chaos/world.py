"""The full set-up behind nginx with all its peers. Each is a process of its own that can be made to fail.

Two web processes, a worker, one for webhooks, beat; PostgreSQL and Redis; the proxy that ships; an identity provider,
an OAuth provider, a payment provider, and the agents' webhook endpoints.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import psycopg

from tests.cast import Program, program
from tests.chaos.flows import AGENTS, Json
from tests.chaos.receiver import Receiver
from tests.support import binaries, box_config, op
from tests.support.box import Box
from tests.support.nginx import Nginx
from tests.support.op import Op
from tests.support.ports import free_port
from tests.support.process import Process
from tests.support.services import Postgres, Redis
from tests.support.stripe_control import KEY, SECRET, StripeSandbox

PLAYERS = 10
SETTINGS = {"ELICIT_TRUSTED_PROXIES": "127.0.0.1", "ELICIT_AGENT_REQUESTS_PER_MINUTE": "1000000"}


class Shape(Box):
    """The processes of docker-compose.yml."""

    def _processes(self) -> Iterator[tuple[str, Process]]:
        for name, process in super()._processes():
            if name == "worker":
                process.command += ["-Q", "expire,payments,revocations,refresh,poll,notify,audit,purge"]
                yield "deliveries", self._process("deliveries", *process.command[1:-1], "deliver")
            yield name, process

    def wait_ready(self, name: str) -> None:
        if name == "deliveries":
            self.processes[name].wait_for_output(r"\bready\.", timeout=60)
        else:
            super().wait_ready(name)


class World:
    """``lines`` is the history: what was seen, as it was seen. Agents and people go through ``url``."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.home = Path(tempfile.mkdtemp(prefix="elicit-chaos-"))
        self._stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        self.run = secrets.token_hex(3)
        self.programs = [program(f"chaos-{self.run}-{number}") for number in range(AGENTS)]
        self.lines: list[Json] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.push(self)
            self._servers()
            self._service()
            stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def _servers(self) -> None:
        programs, program = (
            binaries.machine_postgres() or binaries.wheel_postgres(),
            binaries.machine_redis() or binaries.wheel_redis(),
        )
        if programs is None or program is None:
            raise SystemExit("PostgreSQL and Redis are needed, of the machine or as wheels")
        self.postgres = Postgres(programs)
        self._stack.callback(self.postgres.remove)
        self.postgres.start()
        self.redis = Redis(program)
        self._stack.callback(self.redis.remove)
        self.redis.start()
        people = [{"sub": sub, "name": sub.title(), "email": f"{sub}@example.com"} for sub in everybody()]
        self.corp = Op(op.node(), name="corp", role="identity", accounts=people)
        self._stack.callback(self.corp.remove)
        self.corp.start()
        scopes = ["files.read", "files.write"]
        self.drive = Op(op.node(), name="drive", role="oauth", accounts=people, scopes=scopes)
        self._stack.callback(self.drive.remove)
        self.drive.start()
        self.receiver = Receiver(self.home)
        self._stack.callback(self.receiver.process.kill9)
        self.receiver.start()

    def _service(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        settings = {**SETTINGS, "ELICIT_PUBLIC_URL": self.url}
        self.box = Shape("full", self.postgres.database(), self.redis.database(), webs=2, settings=settings)
        self._stack.callback(self.box.remove)
        self.sandbox = StripeSandbox(self.url)
        self._stack.callback(self.sandbox.remove)
        self.sandbox.start()
        self.stripe = self.sandbox.control
        self.stripe.http = httpx2.Client(base_url=self.sandbox.url, trust_env=False, verify=False, timeout=60)
        account = {
            "slug": "sandbox", "provider": "stripe", "secret_key": KEY, "webhook_secrets": [SECRET],
            "api_base": self.sandbox.url, "livemode": False,
        }  # fmt: skip
        self.box.apply({
            "identity_provider": [box_config.identity_provider(self.corp, self.url)],
            "provider": [box_config.oauth_provider(self.drive, self.url)],
            "payment_account": [account],
            "agent": [self._agent(one) for one in self.programs],
        })  # fmt: skip
        self.box.start()
        web, waiting = (f"127.0.0.1:{one}" for one in self.box.ports)
        self.proxy = Nginx({"web": web, "waiting": waiting}, port=port)
        self._stack.callback(self.proxy.remove)
        self.proxy.start()

    def _agent(self, who: Program) -> Json:
        return box_config.agent(who, self.receiver.url(f"/{who.slug}"), payment_accounts=["sandbox"])

    def write(self, op: str, **what: Any) -> None:
        with self._lock:
            self.lines.append({"op": op, **what})

    def client(self, number: int, **options: Any) -> httpx2.Client:
        """The API as one of the agents."""
        headers = {"authorization": f"Bearer {self.programs[number].api_key}"}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, verify=False, **options)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.box.database_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def logs(self) -> Iterator[tuple[str, str]]:
        """What each process of the service has printed, and the proxy."""
        for name in self.box.processes:
            yield name, self.box.logs(name)
        yield "nginx", self.proxy.process.output()

    def secrets(self) -> dict[str, str]:
        """What was configured and nobody may read in a log."""
        found = {
            "provider's client secret": box_config.PROVIDER_SECRET, "payment key": KEY, "payment webhook": SECRET,
            "identity client secret": box_config.IDENTITY_SECRET, "SECRET_KEY": self.box.env["SECRET_KEY"],
            "vault key": self.box.env["ELICIT_VAULT_KEYS"].partition(":")[2],
        }  # fmt: skip
        for one in self.programs:
            found |= {f"API key of {one.slug}": one.api_key, f"webhook secret of {one.slug}": one.webhook_secret}
        return found


def everybody() -> list[str]:
    """Each player is two people: one who says yes, and one who never does."""
    return [sub for number in range(PLAYERS) for sub in person(number)]


def person(number: int) -> tuple[str, str]:
    return f"yes-{number}", f"never-{number}"
