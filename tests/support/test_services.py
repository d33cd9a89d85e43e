"""PostgreSQL and Redis of our own: from the machine or from wheels, killed and back on the same port."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis as redis_client

from tests.support import binaries, guardian, machine
from tests.support.ports import HIGHEST, LOWEST, _locked, free_port, is_free
from tests.support.process import PROJECT, Process, clean_env, until
from tests.support.services import Postgres, Redis

pytestmark = pytest.mark.slow


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


@pytest.fixture(params=filter(None, [binaries.machine_postgres(), binaries.wheel_postgres()]), ids=str)
def each_postgres(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    server = Postgres(request.param).start()
    yield server
    server.remove()


@pytest.fixture(params=filter(None, [binaries.machine_redis(), binaries.wheel_redis()]), ids=str)
def each_redis(request: pytest.FixtureRequest) -> Iterator[Redis]:
    server = Redis(request.param).start()
    yield server
    server.remove()


def test_what_postgres_acknowledged_is_there_after_kill_9(each_postgres: Postgres) -> None:
    url = each_postgres.database(migrated=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept SELECT generate_series(1, 50)")
        each_postgres.kill9()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        rows(url, "SELECT 1")
    each_postgres.restart()
    assert rows(url, "SELECT count(*) FROM kept") == [(50,)]


def test_postgres_comes_back_after_a_stop_too(own_postgres: Postgres) -> None:
    url = own_postgres.database(migrated=False)
    own_postgres.stop()
    assert is_free(own_postgres.port)
    own_postgres.restart()
    assert rows(url, "SELECT 1") == [(1,)]


def test_a_paused_postgres_does_not_answer_until_it_goes_on(own_postgres: Postgres) -> None:
    own_postgres.pause()
    with pytest.raises(psycopg.OperationalError, match="timeout"):
        psycopg.connect(own_postgres.url(), connect_timeout=2)
    own_postgres.resume()
    assert rows(own_postgres.url(), "SELECT 1") == [(1,)]


def test_every_database_is_fresh_and_has_the_tables(postgres: Postgres) -> None:
    first, second = postgres.database(), postgres.database()
    assert rows(first, "SELECT count(*) > 10 FROM django_migrations") == [(True,)]
    with psycopg.connect(first, autocommit=True) as connection:
        connection.execute("CREATE TABLE mine (n int)")
    assert rows(second, "SELECT count(*) FROM pg_tables WHERE tablename = 'mine'") == [(0,)]
    postgres.drop(first)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        rows(first, "SELECT 1")


def test_postgres_is_not_root(own_postgres: Postgres) -> None:
    assert Path(f"/proc/{own_postgres.process.pid}").stat().st_uid != 0


def test_a_killed_redis_comes_back_empty_on_its_port(each_redis: Redis) -> None:
    url = each_redis.database()
    with each_redis.client(url) as client:
        client.set("a", "1")
    each_redis.kill9()
    with each_redis.client(url) as client, pytest.raises(redis_client.ConnectionError):
        client.get("a")
    each_redis.restart()
    with each_redis.client(url) as client:
        assert client.get("a") is None


def test_a_paused_redis_does_not_answer_until_it_goes_on(own_redis: Redis) -> None:
    own_redis.pause()
    with redis_client.Redis.from_url(own_redis.url(), socket_timeout=0.3) as client:
        with pytest.raises(redis_client.TimeoutError):
            client.ping()
        own_redis.resume()
        assert client.ping()


def test_databases_of_redis_are_apart_and_flush_empties_them_all(own_redis: Redis) -> None:
    first, second = own_redis.database(), own_redis.database()
    with own_redis.client(first) as one, own_redis.client(second) as other:
        one.set("a", "1")
        assert other.get("a") is None
        own_redis.flush()
        assert one.get("a") is None


def test_no_port_is_given_twice_nor_from_the_clients_range() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert all(LOWEST <= port <= HIGHEST < 32_768 for port in ports)


def test_a_port_is_given_to_one_process_of_the_machine_until_that_ends() -> None:
    """Two runs once shared a port: requests to a program that was not yet running were answered by another's."""
    code = "from tests.support.ports import free_port; print(free_port(), free_port(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT
    ) as other:
        assert other.stdin
        assert other.stdout
        theirs = [int(port) for port in other.stdout.readline().split()]
        assert all(is_free(port) and not _locked(port) for port in theirs)
        other.stdin.write("\n")
    assert len(theirs) == 2
    assert all(map(_locked, theirs))


def test_a_process_that_ends_early_fails_at_once_with_its_words(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", "print('no such thing'); raise SystemExit(3)"], tmp_path / "log")
    process.start()
    with pytest.raises(RuntimeError, match="no such thing"):
        process.wait_for_output("ready", timeout=30)
    assert process.stop() == 3


def test_a_process_that_will_not_end_is_killed(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here'); time.sleep(60)"
    process = Process([sys.executable, "-c", stubborn], tmp_path / "log")
    process.start()
    process.wait_for_output("here")
    assert process.stop(timeout=0.2) == -signal.SIGKILL


def test_children_that_outlive_their_parent_are_ended_with_it(tmp_path: Path) -> None:
    parent = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('child', child.pid, flush=True); time.sleep(60)"
    )
    process = Process([sys.executable, "-c", parent], tmp_path / "log")
    process.start()
    child = int(process.wait_for_output(r"child (\d+)").group(1))
    assert process.stop() == -signal.SIGTERM
    until(lambda: not guardian.started_at(child), "the child is gone", timeout=5)


def test_what_a_killed_run_started_is_ended_and_its_files_are_removed(tmp_path: Path) -> None:
    """Why the guardian exists: after kill -9 a run cannot clean up."""
    script = (
        "import os, sys, time; from pathlib import Path; from tests.support.process import Process\n"
        "print(os.environ['TMPDIR'], flush=True)\n"
        f"child = Process([sys.executable, '-c', 'import time; time.sleep(60)'], Path({str(tmp_path / 'log')!r}))\n"
        "child.start(); print(child.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=clean_env()) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        child = int(run.stdout.readline())
        assert guardian.started_at(child)
        assert folder.is_dir()
        os.kill(run.pid, signal.SIGKILL)
    until(lambda: not guardian.started_at(child), "the child of the killed run is gone", timeout=15)
    until(lambda: not folder.exists(), "its temporary files are gone", timeout=15)


def test_the_files_of_a_killed_run_are_removed_where_its_workers_started_everything() -> None:
    """They may lie in memory. Here the process that leads has started the fork server alone."""
    script = (
        "import os, time; from tests.support.process import fork_server\n"
        "fork_server(); print(os.environ['TMPDIR'], flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=clean_env()) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        assert folder.is_dir()
        os.kill(run.pid, signal.SIGTERM)
    until(lambda: not folder.exists(), "its temporary files are gone", timeout=15)


def test_temporary_files_lie_in_memory_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MEMORY", tmp_path)
    info = tmp_path / "meminfo"
    monkeypatch.setattr(machine, "MEMORY_INFO", info)
    monkeypatch.delenv("TMPDIR")
    assert machine.memory_folder() is None, "a system that does not say how much memory it has"
    info.write_text("MemTotal:       24684096 kB\nMemAvailable:    1000 kB\n")
    assert machine.memory_folder() is None
    monkeypatch.setattr(machine, "ROOM", 999 << 10)
    assert machine.memory_folder() == tmp_path
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert machine.memory_folder() is None
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(machine, "MEMORY", tmp_path / "missing")
    assert machine.memory_folder() is None


def test_a_closed_folder_is_copied_for_the_user_that_may_not_read_it(tmp_path: Path) -> None:
    user = binaries.unprivileged_user()
    if user is None:
        pytest.skip("not root: nobody else's account is needed, or could be used")
    closed = tmp_path / "closed" / "bin"
    closed.mkdir(parents=True)
    program = closed / "program"
    program.write_text("#!/bin/sh\necho 1\n")
    program.chmod(0o755)
    closed.parent.chmod(0o700)
    assert not binaries.may_run(program, user)
    copy = binaries.copied(closed)
    assert binaries.may_run(copy / "program", user)
    shutil.rmtree(copy.parent)
