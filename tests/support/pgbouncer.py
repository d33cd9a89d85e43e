"""A PgBouncer in front of a PostgreSQL, as an operator would have it: as little changed as can be, and few connections,
so that clients really share them.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import psycopg

from tests.support import binaries
from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import Process
from tests.support.services import Databases, Service


class PgBouncer(Service):
    """``mode``: ``transaction`` or ``session``. ``size`` is how many connections to PostgreSQL it has at most."""

    def __init__(self, server: Databases, mode: str, size: int, **more: str) -> None:
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        program = program or left_out("pgbouncer: not on this machine (Debian: apt-get install pgbouncer)")
        user = binaries.unprivileged_user()
        self.home = Path(tempfile.mkdtemp(prefix="elicit-pgbouncer-"))
        self.home.chmod(0o755)
        self.port = free_port()
        (self.home / "users.txt").write_text('"postgres" ""\n')
        said = {
            "listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "auth_type": "trust",
            "auth_file": self.home / "users.txt", "pool_mode": mode, "default_pool_size": size,
            "max_client_conn": 400, **more,
        }  # fmt: skip
        file = self.home / "pgbouncer.ini"
        target = f"[databases]\n* = host=127.0.0.1 port={server.port}\n"
        file.write_text(target + "[pgbouncer]\n" + "".join(f"{name} = {value}\n" for name, value in said.items()))
        self.process = Process([program, str(file)], self.home.with_suffix(".log"), cwd=self.home, user=user)

    def url(self, database_url: str) -> str:
        """The address of the same database, through this one."""
        return f"postgres://postgres@127.0.0.1:{self.port}/{database_url.rpartition('/')[2]}"

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "PgBouncer takes connections")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("/postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def remove(self) -> None:
        self.process.kill9()
        self.process.log.unlink(missing_ok=True)
        shutil.rmtree(self.home, ignore_errors=True)
