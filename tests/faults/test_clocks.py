"""F18: the database's clock decides what has expired, whatever a process's own clock says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from elicit_flows.lib.clock import TOLERATED, Correction
from tests.cast import DRIVE_BOT
from tests.support.box import Box
from tests.support.services import Postgres
from tests.support.sink import Sink

HOUR = 3600


@pytest.fixture(scope="module")
def right(new_box: Callable[..., Box], postgres: Postgres) -> Box:
    return new_box("embedded", database_url=postgres.database())


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [HOUR, -HOUR], ids=["an hour ahead", "an hour behind"])
def test_f18_a_process_whose_clock_is_off_goes_by_the_databases(
    right: Box, new_box: Callable[..., Box], ahead: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    keys = {name: right.env[name] for name in ("SECRET_KEY", "ELICIT_VAULT_KEYS", "ELICIT_PUBLIC_URL")}
    issuer = right.tables["identity_provider"][0]["issuer"]
    ask = {"kind": "confirm", "subject": {"iss": issuer, "sub": "alice"}, "message": "May I?", "params": {}}
    headers = {"authorization": f"Bearer {DRIVE_BOT.api_key}"}
    options: Any = {"headers": headers, "trust_env": False, "timeout": 30}
    with httpx2.Client(base_url=right.url, **options) as api:
        asked = api.post("/v1/elicitations", json={**ask, "expires_in": 900}).json()
        settings = {**keys, "TEST_CLOCK_FILE": str(tmp_path / "ahead")}
        (tmp_path / "ahead").write_text(str(ahead))
        off = new_box("embedded", database_url=right.database_url, configure=False, settings=settings)
    request.addfinalizer(off.stop)
    with httpx2.Client(base_url=f"http://127.0.0.1:{off.ports[0]}", **options) as api:
        time.sleep(3)  # its worker looks every second
        assert api.get(f"/v1/elicitations/{asked['id']}").json()["status"] == "pending"
        there = api.post("/v1/elicitations", json={**ask, "expires_in": 900}).json()
    assert abs(datetime.fromisoformat(there["created_at"]).timestamp() - time.time()) < HOUR / 2
    off.stop()
    assert "clock and the database's are" in off.logs("web")


@dataclass
class Stepping:
    """A service whose clock is put forward or back while it runs, and one agent of it."""

    box: Box
    file: Path
    api: httpx2.Client

    def step(self, seconds: int) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self.file)

    def ask(self) -> dict[str, Any]:
        subject = {"iss": self.box.tables["identity_provider"][0]["issuer"], "sub": "alice"}
        body = {"kind": "confirm", "subject": subject, "message": "May I?", "params": {}, "expires_in": 900}
        answer = self.api.post("/v1/elicitations", json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def status(self, asked: dict[str, Any]) -> str:
        return str(self.api.get(f"/v1/elicitations/{asked['id']}").json()["status"])


@pytest.fixture
def stepping(new_box: Callable[..., Box], postgres: Postgres, tmp_path: Path) -> Iterator[Stepping]:
    file = tmp_path / "ahead"
    file.write_text("0")
    box = new_box("embedded", database_url=postgres.database(), settings={"TEST_CLOCK_FILE": str(file)})
    headers = {"authorization": f"Bearer {DRIVE_BOT.api_key}"}
    with httpx2.Client(base_url=box.url, headers=headers, trust_env=False, timeout=30) as api:
        yield Stepping(box, file, api)
    box.remove()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2 * HOUR, -2 * HOUR], ids=["two hours forward", "two hours back"])
def test_f18_a_clock_that_is_stepped_ends_no_question_and_gives_no_lease_to_a_second(
    stepping: Stepping, sink: Sink, seconds: int
) -> None:
    path = f"/{DRIVE_BOT.slug}"
    sink.forget()
    asked = stepping.ask()
    sink.wait_for_event(path, "elicitation.created", asked["id"])
    sink.hang(path)
    held = stepping.ask()
    sink.wait_for_event(path, "elicitation.created", held["id"])
    stepping.step(seconds)
    time.sleep(3)  # its worker looks every second
    assert [stepping.status(one) for one in (asked, held)] == ["pending", "pending"]
    there = stepping.ask()
    assert abs(datetime.fromisoformat(there["created_at"]).timestamp() - time.time()) < 60
    sent = [one.event["elicitation"] for one in sink.received(path)]
    assert sent.count(held["id"]) == 1, "whoever sends it is at it still"
    sink.ok(path)


def test_clocks_that_are_nearly_together_are_left_alone() -> None:
    correction = Correction()
    correction.follow(1000.0 + 0.9 * TOLERATED, 1000.0, 1000.0)
    assert not correction.by
    correction.follow(1000.0, 1060.0, 1060.0)
    assert correction.by.total_seconds() == -60
    correction.follow(1000.0, 1000.0, 1000.0)
    assert not correction.by, "it was set right"


def test_an_answer_that_took_long_proves_no_more_than_it_can() -> None:
    correction = Correction()
    correction.follow(1000.0, 1000.0, 1010.0)
    assert not correction.by, "it may have been read at any moment of these ten seconds"
    correction.follow(1000.0, 1030.0, 1040.0)
    assert correction.by.total_seconds() == -35
