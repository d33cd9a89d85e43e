"""No session of the service blocks PostgreSQL: statements end in time, and idle connections are closed."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import LiteralString

import httpx2
import psycopg
import pytest

from config import env
from tests.cast import DRIVE_BOT
from tests.support.box import Box
from tests.support.process import PROJECT, until
from tests.support.services import Postgres

AT_ONCE = 24
LIMITS = {"ELICIT_STATEMENT_TIMEOUT": "5", "ELICIT_LOCK_TIMEOUT": "1", "ELICIT_DATABASE_IDLE": "2"}


@pytest.fixture(scope="module")
def limited(new_box: Callable[..., Box], postgres: Postgres) -> Box:
    return new_box("embedded", database_url=postgres.database(), settings=LIMITS)


def number(box: Box, statement: LiteralString) -> int:
    with psycopg.connect(box.env["DATABASE_URL"], autocommit=True) as other:
        found = other.execute(statement).fetchone()
        return int(found[0]) if found else 0


def sessions(box: Box) -> int:
    """Connections to the box's database, but for this one."""
    return number(
        box, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def most_sessions(box: Box, seconds: float) -> int:
    """As many as there were at once within ``seconds``: not every job has begun when the first request is answered."""
    found, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        found = max(found, sessions(box))
        time.sleep(0.1)
    return found


def client(box: Box) -> httpx2.Client:
    headers = {"authorization": f"Bearer {DRIVE_BOT.api_key}"}
    return httpx2.Client(base_url=box.url, headers=headers, trust_env=False, timeout=30)


@pytest.mark.slow
def test_f8_what_a_wave_of_requests_needed_is_given_back_and_who_waits_too_long_is_told_to_come_again(
    limited: Box,
) -> None:
    with client(limited) as api:
        api.get("/v1/elicitations")
    stored = "SELECT count(*) FROM elicit_flows_tally"
    until(lambda: number(limited, stored) > 0, "the thread that stores what was counted has its connection")
    calm = most_sessions(limited, 3 * int(LIMITS["ELICIT_DATABASE_IDLE"]))
    answers: list[httpx2.Response] = []
    with psycopg.connect(limited.env["DATABASE_URL"]) as holder, client(limited) as api, ThreadPoolExecutor(8) as wave:
        holder.execute("LOCK TABLE elicit_flows_elicitation IN ACCESS EXCLUSIVE MODE")
        asked = [wave.submit(api.get, "/v1/elicitations") for _ in range(AT_ONCE)]
        until(lambda: sessions(limited) >= calm + 4, "the wave has connections of its own, and the lock's holder one")
        answers = [one.result() for one in asked]
    assert {answer.status_code for answer in answers} == {503}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)
    assert {answer.json()["code"] for answer in answers} == {"unavailable"}
    assert "Traceback" not in limited.logs("web")
    until(lambda: sessions(limited) <= calm, "they are given back")
    with client(limited) as api:
        assert api.get("/v1/elicitations").status_code == 200


@pytest.mark.parametrize(
    ("limits", "name", "said"),
    [
        ({"statement": 1, "lock": 0, "idle": 0}, "statement_timeout", "1s"),
        ({"statement": 0, "lock": 2, "idle": 0}, "lock_timeout", "2s"),
        ({"statement": 0, "lock": 0, "idle": 3}, "idle_in_transaction_session_timeout", "3s"),
    ],
)
def test_each_session_has_the_limits_of_the_settings(
    postgres: Postgres, limits: dict[str, int], name: str, said: str
) -> None:
    database = env.database("DATABASE_URL_OF_A_TEST", postgres.url(), PROJECT)
    env.limit_sessions(database, **limits)
    with psycopg.connect(postgres.url(), **database["OPTIONS"]) as session:
        assert session.execute(f"SHOW {name}").fetchone() == (said,)
        others = {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} - {name}
        assert all(session.execute(f"SHOW {other}").fetchone() == ("0",) for other in others)


def test_a_statement_that_takes_too_long_is_ended(postgres: Postgres) -> None:
    database = env.database("DATABASE_URL_OF_A_TEST", postgres.url(), PROJECT)
    env.limit_sessions(database, statement=1, lock=0, idle=0)
    with (
        psycopg.connect(postgres.url(), **database["OPTIONS"]) as session,
        pytest.raises(psycopg.errors.QueryCanceled),
    ):
        session.execute("SELECT pg_sleep(30)")


def test_what_the_url_says_counts_more_and_sqlite_has_no_such_limits(postgres: Postgres, tmp_path: Path) -> None:
    url = f"{postgres.url()}?options=-c%20statement_timeout%3D7s"
    database = env.database("DATABASE_URL_OF_A_TEST", url, PROJECT)
    env.limit_sessions(database, statement=1, lock=0, idle=0)
    with psycopg.connect(postgres.url(), **database["OPTIONS"]) as session:
        assert session.execute("SHOW statement_timeout").fetchone() == ("7s",)
    file = env.database("DATABASE_URL_OF_A_TEST", f"sqlite:///{tmp_path}/x.sqlite3", PROJECT)
    env.limit_sessions(file, statement=1, lock=1, idle=1)
    assert "options" not in file["OPTIONS"]
