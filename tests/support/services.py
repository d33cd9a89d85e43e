"""PostgreSQL and Redis of the test run's own: on free ports, in folders of their own, to be killed at will.

``SharedPostgres`` and ``SharedRedis`` are the one server of a run, as each of its workers sees it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

import psycopg
import redis

from tests.support import binaries
from tests.support.ports import free_port
from tests.support.process import Process, clean_env, fork_server, identity, run, until

# Safe against a killed server, which is what the tests do; not against a machine that loses power.
_QUICK = {"fsync": "off", "full_page_writes": "off"}
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "400",  # for the web processes of all boxes that live at once: docs/explanation/failures.md
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "timezone": "UTC",
}

MIGRATED = "migrated"  # the database that has the service's tables and nothing else
REDIS_DATABASES = 1000
_numbers = itertools.count(1)


class Service(ABC):
    """What the tests do to a server. Every restart comes back on the same port with the same data folder."""

    process: Process
    port: int

    @abstractmethod
    def wait_ready(self) -> None: ...

    def start(self) -> Self:
        self.process.start()
        self.wait_ready()
        return self

    def stop(self) -> None:
        self.process.stop()

    def kill9(self) -> None:
        self.process.kill9()

    def restart(self) -> None:
        """Starts it again, whether it was stopped, killed or still runs."""
        self.process.stop()
        self.start()

    def pause(self) -> None:
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()


def _folder(kind: str, user: str | None, home: Path | None = None) -> Path:
    if home:
        home.mkdir()
    home = home or Path(tempfile.mkdtemp(prefix=f"elicit-{kind}-"))
    home.chmod(0o755)
    if user:
        shutil.chown(home, user)
    return home


class Databases(ABC):
    """The databases of the PostgreSQL on ``port``."""

    port: int

    def url(self, name: str = "postgres") -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str, name: str = "postgres") -> None:
        with psycopg.connect(self.url(name), autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement.encode())

    def database(self, *, migrated: bool = True) -> str:
        """The address of a new database: with the service's tables by default, else empty."""
        template = self._migrated_template() if migrated else "template1"
        return self._create(self._name(), template)

    def copied(self, url: str) -> str:
        """The address of a copy, as a restored backup would be. Nobody may be connected to the original meanwhile."""
        return self._create(self._name(), url.rpartition("/")[2])

    def drop(self, url: str) -> None:
        self.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')

    def _name(self) -> str:
        return f"test_{os.getpid()}_{next(_numbers)}"

    def _create(self, name: str, template: str) -> str:
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url(name)

    @abstractmethod
    def _migrated_template(self) -> str: ...


class SharedPostgres(Databases):
    """The server of the run, which ``shared.py`` started with a migrated template. It is not to be killed."""

    def __init__(self, port: int) -> None:
        self.port = port

    def _migrated_template(self) -> str:
        return MIGRATED


class Postgres(Databases, Service):
    """A cluster of its own. ``durable`` turns fsync on, for benchmarks that must not cheat."""

    def __init__(
        self, programs: Path, *, port: int | None = None, durable: bool = False, data: Path | None = None,
        home: Path | None = None,
    ) -> None:  # fmt: skip
        """``data`` is the folder of an ended cluster with the migrated template, to begin with a copy of.

        ``home``: the folder that everything is in, which is made; else it is one that nobody else has.
        """
        user = binaries.unprivileged_user()
        self._copy = None if binaries.may_run(programs / "postgres", user) else binaries.copied(programs)
        self.programs = self._copy or programs
        self.home = _folder("postgres", user, home)
        self.port = port or free_port()
        settings = _SETTINGS if durable else {**_SETTINGS, **_QUICK}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._has_template = data is not None
        self.process = Process(
            [str(self.programs / "postgres"), "-D", str(self.home / "data"), "-p", str(self.port),
             "-k", str(self.home), *options],
            _log(self.home, user), cwd=self.home, user=user, stop_with=signal.SIGINT,
        )  # fmt: skip
        if data:
            command = ["cp", "-a", str(data), str(self.home / "data")]
            subprocess.run(command, check=True, capture_output=True, **identity(user))
        else:
            command = [self.programs / "initdb", "-D", self.home / "data", "-U", "postgres", "-A", "trust"]
            made = subprocess.run(
                [*map(str, command), "--encoding=UTF8", "--locale=C", "--no-sync"],
                capture_output=True, text=True, check=False, cwd=self.home, env=clean_env(), **identity(user),
            )  # fmt: skip
            if made.returncode:
                raise RuntimeError(f"initdb failed: {made.stderr.strip()[-500:]}")

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "PostgreSQL takes connections")

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def kill9(self) -> None:
        """Kills the postmaster; its children leave when they notice, and only then can it be started again."""
        super().kill9()
        until(self._abandoned, "PostgreSQL's children are gone")

    def _abandoned(self) -> bool:
        return not any(_belongs(entry, self.home) for entry in Path("/proc").glob("[0-9]*"))

    def _migrated_template(self) -> str:
        if not self._has_template:
            migrate(self._create(MIGRATED, "template1"))
            self._has_template = True
        return MIGRATED

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)
        if self._copy:
            shutil.rmtree(self._copy.parent, ignore_errors=True)


def _log(home: Path, user: str | None) -> Path:
    log = home / "log"
    log.touch()
    if user:
        shutil.chown(log, user)
    return log


def _belongs(process: Path, home: Path) -> bool:
    with contextlib.suppress(OSError):
        return (process / "cwd").resolve() == home / "data"
    return False


def migrate(database_url: str, **env: str) -> None:
    """Runs ``manage.py migrate`` on ``database_url`` as a process of its own."""
    keys = {"SECRET_KEY": "for migrations only", "ELICIT_VAULT_KEYS": "k1:" + "A" * 43 + "="}
    command = [sys.executable, "manage.py", "migrate", "--skip-checks", "--noinput", "--verbosity=0"]
    ran = run(command, clean_env({**keys, "DATABASE_URL": database_url, **env}), fork_server())
    if ran.returncode:
        raise RuntimeError(f"manage.py migrate failed\n{ran.stdout}{ran.stderr}")


class Stores:
    """The numbered databases of the Redis on ``port``."""

    port: int

    def url(self, number: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{number}"

    def database(self) -> str:
        """The address of a database that nobody else was given."""
        return self.url(next(_numbers))

    def client(self, url: str | None = None) -> redis.Redis:
        return redis.Redis.from_url(url or self.url(), socket_timeout=5)


class SharedRedis(Stores):
    """The server of the run. It is not to be killed or flushed."""

    def __init__(self, port: int) -> None:
        self.port = port

    def database(self) -> str:
        with self.client(self.url(REDIS_DATABASES - 1)) as client:
            return self.url(int(client.incr("given")))  # counted there: the other workers are given some too


class Redis(Stores, Service):
    """Keeps nothing on disk: killed, it comes back empty, which must lose nothing."""

    def __init__(self, program: Path, *, port: int | None = None) -> None:
        self.home = _folder("redis", None)
        self.port = port or free_port()
        self.process = Process(
            [str(program), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.home),
             "--save", "", "--appendonly", "no", "--databases", str(REDIS_DATABASES), "--daemonize", "no"],
            self.home / "log", cwd=self.home,
        )  # fmt: skip

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "Redis takes connections")

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def flush(self) -> None:
        """Forgets everything in every database."""
        with self.client() as client:
            client.flushall()

    def remove(self) -> None:
        self.process.kill9()
        shutil.rmtree(self.home, ignore_errors=True)
