"""The service in a box: the real processes, as an operator starts them, on ports and folders of their own."""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.cast import OLGA, Operator, Program, program
from tests.support import box_config
from tests.support.box_config import Tables, to_toml
from tests.support.ports import free_port
from tests.support.process import Loaded, Process, clean_env, fork_server, run

SHAPES = ("embedded", "full")
SPARE_AGENTS = 30
STOP_WITHIN = 20.0  # seconds
LIVE: list[Box] = []  # for the report of a failed test


class AgentClient(httpx2.Client):
    """The agent API as one agent: ``agent.post("/v1/elicitations", json=…)``. Knows its own slug and secrets."""

    def __init__(self, url: str, who: Program) -> None:
        headers = {"authorization": f"Bearer {who.api_key}"}
        super().__init__(base_url=url, headers=headers, trust_env=False, verify=False, timeout=60)
        self.slug, self.api_key, self.webhook_secret = who.slug, who.api_key, who.webhook_secret


class Box:
    """``shape`` embedded: one process, SQLite. ``full``: web processes, worker, beat on PostgreSQL and Redis.

    Processes are called web, web2, …, worker, beat. ``settings`` are environment variables beside the usual ones.
    ``agent_table`` makes the operator's table of an agent; the fixtures put a webhook address in.
    """

    def __init__(
        self, shape: str, database_url: str | None = None, redis_url: str | None = None, *,
        webs: int = 1, settings: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.shape = shape
        self.home = Path(tempfile.mkdtemp(prefix="elicit-box-"))
        self.ports = [free_port() for _ in range(webs)]
        self.database_url = database_url or f"sqlite:///{self.home}/elicit.sqlite3"
        self.redis_url = redis_url
        self.env = {**self._environment(), **(settings or {})}
        self._loaded = Loaded(self.home)
        self.processes = dict(self._processes())
        self.programs: dict[str, Program] = {}
        self.tables: Tables = {}
        self.agent_table: Callable[[Program], dict[str, Any]] = box_config.agent
        self._clients: dict[str, AgentClient] = {}
        self._spare: Iterator[Program] = iter(())
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        """The public address, which is the first web process."""
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def urls(self) -> list[str]:
        """One for each web process; only the first is in links."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def _environment(self) -> dict[str, str]:
        env = {
            "DATABASE_URL": self.database_url,
            "ELICIT_PUBLIC_URL": self.url,
            "ELICIT_ALLOW_LOOPBACK": "1",
            "SECRET_KEY": base64.urlsafe_b64encode(os.urandom(48)).decode(),
            "ELICIT_VAULT_KEYS": "k1:" + base64.b64encode(os.urandom(32)).decode(),
            "DJANGO_SETTINGS_MODULE": "tests.support.box_settings",
        }
        return {**env, "REDIS_URL": self.redis_url} if self.redis_url else env

    def _processes(self) -> Iterator[tuple[str, Process]]:
        for number, port in enumerate(self.ports, start=1):
            name = "web" if number == 1 else f"web{number}"
            yield name, self._process(name, "manage.py", "serve", "--port", str(port))
        if self.shape == "full":
            celery = ("-m", "celery", "-A", "config")
            yield "worker", self._process("worker", *celery, "worker", "--concurrency=2", "--loglevel=INFO")
            schedule = str(self.home / "beat-schedule")
            yield (
                "beat",
                self._process("beat", *celery, "beat", "--loglevel=INFO", f"--schedule={schedule}", "--pidfile="),
            )

    def _process(self, name: str, *command: str) -> Process:
        log = self.home / f"{name}.log"
        return Process([sys.executable, *command], log, env=self.env, forked_from=self._loaded)

    def manage(
        self, *arguments: str, check: bool = True, env: dict[str, str] | None = None, loaded: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``manage.py`` with the box's environment; output is text, with ``check`` failure is an error.

        ``loaded=False`` sets Django up anew, for tests of what that does; another ``env`` needs it.
        """
        ours = clean_env({**self.env, **(env or {})})
        server = self._loaded(ours) if loaded and not env else fork_server()
        ran = run([sys.executable, "manage.py", *arguments], ours, server)
        assert not check or ran.returncode == 0, f"manage.py {' '.join(arguments)}\n{ran.stdout}{ran.stderr}"
        return ran

    def migrate(self) -> None:
        self.manage("migrate", "--skip-checks", "--noinput", "--verbosity=0")

    def apply(self, tables: Tables) -> str:
        """Applies ``tables`` on top of what was applied before; what the command printed."""
        for name, rows in tables.items():
            slugs = {row["slug"] for row in rows}
            kept = [row for row in self.tables.get(name, []) if row["slug"] not in slugs]
            self.tables[name] = [*kept, *rows]
        file = self.home / f"apply-{next(self._numbers)}.toml"
        file.write_text(to_toml(self.tables), encoding="utf-8")
        return self.manage("apply", "--yes", "--skip-checks", str(file)).stdout

    def add_agents(self, *programs: Program, beside: Tables | None = None) -> None:
        """Applies the tables of these agents, with ``beside`` in the same file."""
        self.apply({**(beside or {}), "agent": [self.agent_table(one) for one in programs]})
        self.programs.update({one.slug: one for one in programs})

    def agent(self, slug: str) -> AgentClient:
        """The API as the agent of that slug; one client for each agent."""
        if slug not in self._clients:
            self._clients[slug] = AgentClient(self.url, self.programs[slug])
        return self._clients[slug]

    def fresh_agent(self) -> AgentClient:
        """An agent that nobody used before: its lists are empty, its rate limits untouched."""
        spare = next(self._spare, None)
        if spare is None:
            # The port makes them unlike those of other boxes, whose webhooks go to the same sink.
            more = [program(f"agent-{self.ports[0]}-{next(self._numbers)}") for _ in range(SPARE_AGENTS)]
            self.add_agents(*more)
            self._spare = iter(more)
            spare = next(self._spare)
        return self.agent(spare.slug)

    def add_operator(self, who: Operator = OLGA) -> Operator:
        """Makes an account that may enter the admin."""
        secret = {"DJANGO_SUPERUSER_PASSWORD": who.password}
        self.manage("createsuperuser", "--noinput", f"--username={who.username}", "--email=", env=secret)
        return who

    def start(self) -> Box:
        if self not in LIVE:
            LIVE.append(self)
        for process in self.processes.values():
            process.start()
        for name in self.processes:
            self.wait_ready(name)
        return self

    def wait_ready(self, name: str) -> None:
        process = self.processes[name]
        if name == "worker":
            process.wait_for_output(r"\bready\.", timeout=60)
        elif name == "beat":
            process.wait_for_output(r"beat: Starting", timeout=60)
        else:
            url = self.urls[self.webs.index(name)]
            process.wait_until(lambda: answers_ready(url), f"{name} answers /readyz with 200", timeout=60)

    @property
    def webs(self) -> list[str]:
        return [name for name in self.processes if name.startswith("web")]

    def pid(self, name: str = "web") -> int:
        return self.processes[name].pid

    def kill9(self, name: str = "web") -> None:
        self.processes[name].kill9()

    def pause(self, name: str = "web") -> None:
        self.processes[name].pause()

    def resume(self, name: str = "web") -> None:
        self.processes[name].resume()

    def rest(self) -> None:
        """Stops the time of all its processes, until ``wake``."""
        for process in self.processes.values():
            process.pause()

    def wake(self) -> None:
        """Lets them go on, and waits until they know again that each of them is alive."""
        for process in self.processes.values():
            process.resume()
        for name in self.webs:
            if self.processes[name].alive:
                self.wait_ready(name)

    def restart(self, name: str = "web") -> None:
        """Starts it again, whether it was killed or still runs, and waits until it is ready."""
        self.processes[name].stop()
        self.processes[name].start()
        self.wait_ready(name)

    def stop(self, name: str | None = None) -> None:
        """Ends one process, or all of them, as a deployment would (SIGTERM)."""
        names = [name] if name else list(reversed(self.processes))
        for one in names:
            self.processes[one].stop(STOP_WITHIN)

    def logs(self, name: str | None = None) -> str:
        """What one process has printed, or all of them, each under its name."""
        if name:
            return self.processes[name].output()
        return "\n".join(f"--- {one}\n{process.output()}" for one, process in self.processes.items())

    def remove(self) -> None:
        for client in self._clients.values():
            client.close()
        for process in self.processes.values():
            process.kill9()
        self._loaded.close()
        if self in LIVE:
            LIVE.remove(self)
        shutil.rmtree(self.home, ignore_errors=True)


def answers_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", trust_env=False, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False
