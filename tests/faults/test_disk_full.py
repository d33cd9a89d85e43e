"""F14, F15: the database's disk is full, or the one that logs are written to."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx2
import pytest

from tests.cast import ALICE
from tests.journey.stage import Stage
from tests.payments.history import collecting
from tests.support import fixtures
from tests.support.box import Box
from tests.support.disk import Disk, small_disk
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Postgres
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

MEGABYTES = 200  # a cluster with the tables, and as much again
MOST = 3000  # creates, until no page has room for one more
FULL = Path("/dev/full")


@dataclass
class Small:
    """A box whose database is on a disk of its own."""

    box: Box
    disk: Disk
    server: Postgres | None

    def mend(self) -> None:
        """Room again. PostgreSQL may have ended over it, and whoever watches over it starts it again."""
        self.disk.make_room()
        if self.server and not self.server.process.alive:
            self.server.start()


@pytest.fixture(params=["postgresql", "sqlite"])
def small(request: pytest.FixtureRequest, new_box: Callable[..., Box], migrated_sqlite: Path) -> Iterator[Small]:
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(MEGABYTES))
        server = None
        if request.param == "postgresql":
            server = fixtures.new_postgres(home=disk.folder / "postgres")
            stack.callback(server.remove)
            url = server.database()
        else:
            shutil.copy(migrated_sqlite, disk.folder / "elicit.sqlite3")
            url = f"sqlite:///{disk.folder}/elicit.sqlite3"
        box = new_box("embedded", database_url=url)
        stack.callback(box.remove)
        yield Small(box, disk, server)


@pytest.mark.limit(180)
def test_f14_a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing_that_was_kept(
    small: Small, corp: Op, drive: Op, http_user: HttpUser, sink: Sink
) -> None:
    stage = Stage(small.box, small.box.fresh_agent(), corp, drive)
    body = {"kind": "confirm", "subject": ALICE.subject(corp.issuer), "message": "x" * 2000, "params": {}}

    def ask(key: str) -> httpx2.Response:
        return stage.agent.post("/v1/elicitations", json=body, headers={"idempotency-key": key})

    first = ask("first").json()
    http_user.open(first["url"])
    http_user.carry_on("signin", "alice")
    pid, kept, refused = small.box.pid(), {"first": first["id"]}, ""
    small.disk.fill()
    for number in range(MOST):
        answer = ask(str(number))
        if answer.status_code != 201:
            refused = str(number)
            break
        kept[str(number)] = answer.json()["id"]
    assert refused, "the disk was never full"
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "unavailable"
    assert int(answer.headers["retry-after"]) > 0
    pressed = http_user.press("submit")
    shown = pressed.status_code, http_user.page_name
    small.mend()

    until(lambda: ask(refused).status_code in {200, 201}, "there is room again")
    status = stage.status(first)
    assert (shown[0] == 503, status) in ((True, "pending"), (False, "completed")), (shown, status)
    listed = {one["id"] for one in collecting.pages(stage.agent, "/v1/elicitations")}
    assert set(kept.values()) <= listed
    assert len(listed) == len(kept) + 1, "what was refused and asked again is one"
    http_user.open(first["url"])
    http_user.carry_on("signin", "alice", "submit")
    assert http_user.page_status == "completed"
    sink.wait_for_event(f"/{stage.agent.slug}", "elicitation.completed", first["id"], timeout=40)
    told = [event["elicitation"] for event in stage.feed() if event["type"] == "elicitation.created"]
    assert sorted(told) == sorted(listed)
    assert small.box.pid() == pid


@pytest.fixture
def unlogged(new_box: Callable[..., Box]) -> Iterator[Box]:
    """Every line that a process of it writes meets a full disk, from its start on."""
    box = new_box("full", start=False)
    for process in box.processes.values():
        process.log = FULL
        process.start()
    for url in box.urls:
        box.processes["web"].wait_until(lambda url=url: answers(url), "it answers", timeout=60)  # type: ignore[misc]
    yield box
    box.remove()


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz", trust_env=False, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.limit(120)
def test_f15_a_disk_that_takes_no_log_line_stops_nothing(
    unlogged: Box, corp: Op, drive: Op, http_user: HttpUser, sink: Sink
) -> None:
    assert FULL.is_char_device()
    stage = Stage(unlogged, unlogged.fresh_agent(), corp, drive)
    left = stage.ask(expires_in=2)
    for number in count(1):  # what is logged: a refusal, a page that is not there, a provider that fails
        asked = stage.ask(reuse="never")
        unlogged_get = httpx2.get(f"{unlogged.url}/v1/events", headers={"authorization": "Bearer no"}, trust_env=False)
        assert unlogged_get.status_code == 401
        drive.fault("token", status=500, times=1)
        http_user.connect(asked["url"], "alice")
        assert http_user.page_name == "refused", "the provider failed, and that is logged"
        http_user.connect(asked["url"], "alice")
        assert http_user.page_status == "completed"
        sink.wait_for_event(f"/{stage.agent.slug}", "elicitation.completed", asked["id"])
        if number == 3:
            break
    sink.wait_for_event(f"/{stage.agent.slug}", "elicitation.expired", left["id"])
    assert {name: process.alive for name, process in unlogged.processes.items()} == dict.fromkeys(
        unlogged.processes, True
    )  # fmt: skip
    for name in unlogged.webs:
        unlogged.stop(name)
