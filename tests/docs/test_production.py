"""The tutorial for production, followed on PostgreSQL and Redis.

There is no Docker here, so ``docker`` is a script: ``compose up`` runs the commands that docker-compose.yml has for
``migrate`` and ``web``, with the environment that the file makes of ``.env`` and the secrets; ``compose run manage``
runs ``manage.py`` with it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docs.page import found, same_output
from tests.support.newcomer import copy_project
from tests.support.ports import free_port
from tests.support.process import Process, clean_env, until
from tests.support.services import Postgres, Redis

pytestmark = pytest.mark.slow

PAGE = "tutorials/production.md"
DOCKER = """#!/bin/sh
case "$*" in
  "compose build") ;;
  "compose up -d") touch up; while ! test -e ready; do sleep 0.1; done ;;
  "compose run --rm manage apply /config/elicit.toml")
    . ./compose-environment; exec python manage.py apply production/config/elicit.toml ;;
  "compose run --rm manage "*) shift 4; . ./compose-environment; exec python manage.py "$@" ;;
  *) echo "not played here: $*" >&2; exit 1 ;;
esac
"""


class Server:
    """The server of the tutorial: a clone, and what ``docker`` does there."""

    def __init__(self, place: Path, database: str, redis: str) -> None:
        self.place, self.database, self.redis = place, database, redis
        self.port = free_port()
        self.web: Process | None = None
        self.key = ""
        (place / "bin").mkdir()
        (place / "bin/docker").write_text(DOCKER)
        (place / "bin/docker").chmod(0o755)
        (place / "bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (place / "bin/python").chmod(0o755)

    def environment(self) -> dict[str, str]:
        """What docker-compose.yml gives the service, its two servers replaced by those of the tests."""
        lines = (self.place / ".env").read_text().splitlines()
        said = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        compose = yaml.safe_load((self.place / "docker-compose.yml").read_text())
        made = dict(said)
        for name, value in compose["x-service"]["environment"].items():
            made[name] = re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", lambda one: said.get(one[1]) or one[2], value)
        secrets = {f"/run/secrets/{name}": self.place / file["file"] for name, file in compose["secrets"].items()}
        made = {name: str(secrets.get(value, value)) for name, value in made.items()}
        # The servers of the tests let everybody in.
        del made["DATABASE_PASSWORD_FILE"], made["REDIS_PASSWORD_FILE"]
        return made | {"DATABASE_URL": self.database, "REDIS_URL": self.redis, "PYTHONPATH": str(self.place)}

    def up(self) -> None:
        """What ``compose up`` waits for: the tables, and a web process that answers."""
        env = self.environment()
        exports = "".join(f"export {name}='{value}'\n" for name, value in env.items())
        (self.place / "compose-environment").write_text(exports)
        compose = yaml.safe_load((self.place / "docker-compose.yml").read_text())["services"]
        migrate = [sys.executable, *compose["migrate"]["command"][1:]]
        subprocess.run(migrate, cwd=self.place, env=clean_env(env), check=True, capture_output=True)
        serve = [sys.executable, *compose["web"]["command"][1:-1], str(self.port)]
        self.web = Process(serve, self.place / "web.log", env=env, cwd=self.place)
        self.web.start()
        until(lambda: b"200" in self.curl("/readyz"), "the web process answers", timeout=90)
        (self.place / "ready").touch()

    def curl(self, path: str) -> bytes:
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{self.port}{path}"]
        return subprocess.run(command, capture_output=True, check=False).stdout

    def run(self, block: str) -> str:
        text = block.replace("curl --fail ", "curl -sS --fail ")
        text = text.replace("https://flows.example.com/", f"http://127.0.0.1:{self.port}/")
        env = clean_env({"PATH": f"{self.place}/bin:/usr/bin:/bin", "ELICIT_API_KEY": self.key})
        process = subprocess.Popen(
            ["/bin/sh", "-e", "-c", text], cwd=self.place, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        if "compose up" in block:
            until((self.place / "up").exists, "docker compose up was called")
            self.up()
        printed, _ = process.communicate(timeout=90)
        assert process.returncode == 0, printed
        return printed


@pytest.fixture
def server(tmp_path: Path, postgres: Postgres, redis: Redis) -> Iterator[Server]:
    copy_project(tmp_path)
    made = Server(tmp_path, postgres.database(migrated=False), redis.database())
    yield made
    if made.web:
        made.web.stop()


@pytest.mark.limit(300)
def test_the_tutorial_can_be_followed(server: Server) -> None:
    printed = ""
    for block in found(PAGE):
        if block.language == "toml":
            (server.place / "production/config/elicit.toml").write_text(block.text)
        elif block.language == "text":
            assert same_output(block.text, printed), f"line {block.line}: it printed\n{printed}"
        else:
            printed = server.run(block.text)
            key = re.search(r"api_key, shown only this once: (\S+)", printed)
            server.key = key[1] if key else server.key
    assert server.key, "the key of the agent was printed"


def test_the_page_is_that_of_the_runner() -> None:
    assert {block.runner for block in found("tutorials/production.md")} == {"production", "apply"}
