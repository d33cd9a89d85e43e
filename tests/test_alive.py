"""The file that Celery's processes touch, as health checks of containers read it."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elicit_flows.lib import alive
from tests.support.process import PROJECT, Process, clean_env
from tests.support.services import Postgres, Redis


def checked(path: Path | None) -> tuple[int, str]:
    env = clean_env({alive.NAME: str(path)} if path else {})
    command = [sys.executable, "-m", "elicit_flows.lib.alive"]
    ran = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout.strip()


def test_the_check_fails_without_a_file_and_with_an_old_one(tmp_path: Path) -> None:
    file = tmp_path / "alive"
    assert checked(None) == (1, f"{alive.NAME} is not set.")
    assert checked(file) == (1, f"{file}: No such file or directory.")
    alive.touch(str(file))
    assert checked(file) == (0, "")
    os.utime(file, (time.time() - 90, time.time() - 90))
    assert checked(file)[0] == 1


def test_who_cannot_write_it_goes_on_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    alive.touch(str(tmp_path / "missing" / "alive"))
    alive.touch(None)
    assert [record.getMessage() for record in caplog.records] == [
        f"{alive.NAME}: {tmp_path}/missing/alive cannot be touched (No such file or directory)"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["worker", "beat"])
def test_the_processes_of_celery_touch_it_again_and_again(
    what: str, tmp_path: Path, postgres: Postgres, redis: Redis
) -> None:
    file = tmp_path / "alive"
    env = {
        "DATABASE_URL": postgres.database(), "REDIS_URL": redis.database(), "SECRET_KEY": "k" * 50,
        "ELICIT_VAULT_KEYS": "k1:" + base64.b64encode(os.urandom(32)).decode(), alive.NAME: str(file),
    }  # fmt: skip
    more = [f"--schedule={tmp_path}/schedule", "--pidfile="] if what == "beat" else []
    process = Process([sys.executable, "-m", "celery", "-A", "config", what, *more], tmp_path / "log", env=env)
    process.start()
    try:
        process.wait_until(file.exists, f"{what} has touched the file", timeout=60)
        os.utime(file, (0, 0))
        process.wait_until(lambda: checked(file)[0] == 0, f"{what} touches it again", timeout=60)
    finally:
        process.stop()
