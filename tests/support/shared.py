"""What the workers of a run share, made by the first that asks: PostgreSQL, Redis, and files with the tables in them.

``python -m tests.support.shared postgres`` runs a server until its standard input ends, as the fork server starts it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import services
from tests.support.ports import free_port
from tests.support.process import PROJECT, RUN, RUN_NAME, clean_env, fork_server, until
from tests.support.services import Postgres, Redis, SharedPostgres, SharedRedis

START_WITHIN = 120.0  # seconds


@contextmanager
def _first(name: str) -> Iterator[bool]:
    """Whether this worker is the first to ask for ``name``; others wait until the block has ended."""
    with (RUN / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Not where the file ended when it was opened: the one before may have written since.
        yield lock.seek(0, os.SEEK_END) == 0
        lock.write(".")


def postgres(programs: Path, port: int | None = None) -> SharedPostgres:
    cluster(programs)
    return SharedPostgres(_port("postgres", programs, port))


def redis(program: Path, port: int | None = None) -> SharedRedis:
    return SharedRedis(_port("redis", program, port))


def _port(name: str, programs: Path, wanted: int | None) -> int:
    """Where the server of that name listens. It is started if nobody has, and lives as long as the run."""
    file, log = RUN / name, RUN / f"{name}.log"
    with _first(name) as first:
        if first:
            arguments = ["-m", "tests.support.shared", name, str(wanted or free_port()), str(programs)]
            with log.open("ab") as said:
                fork = fork_server().fork(
                    arguments, clean_env({RUN_NAME: str(RUN)}), PROJECT, said.fileno(), said.fileno(), outlives=True
                )
            until(lambda: file.exists() or fork.ended(), f"the shared {name} is there", timeout=START_WITHIN)
    if not file.exists():
        raise RuntimeError(f"the shared {name} did not start\n{log.read_text()}")
    return int(file.read_text())


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The file or folder of that name, which the first worker that asks makes."""
    made = RUN / name
    with _first(name) as first:
        if first:
            make(made)
    return made


def migrated_sqlite() -> Path:
    """A file with the service's tables, to copy: migrating takes longer than copying."""
    return made_once("migrated.sqlite3", lambda file: services.migrate(f"sqlite:///{file}"))


def cluster(programs: Path) -> Path:
    """The data of a PostgreSQL that has the migrated template and has ended: one of a test's own begins with a copy."""

    def make(folder: Path) -> None:
        maker = Postgres(programs).start()
        maker.database()
        maker.stop()
        shutil.move(maker.home / "data", folder)
        maker.remove()

    return made_once("cluster", make)


def main(name: str, port: str, programs: str) -> None:
    """Runs until the run is over."""
    server: Postgres | Redis
    if name == "postgres":
        server = Postgres(Path(programs), port=int(port), data=RUN / "cluster").start()
    else:
        server = Redis(Path(programs), port=int(port)).start()
    file = RUN / name
    file.with_suffix(".new").write_text(port)
    file.with_suffix(".new").rename(file)
    sys.stdin.read()
    server.remove()


if __name__ == "__main__":
    main(*sys.argv[1:])
