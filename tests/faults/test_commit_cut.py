"""F13: the connection to PostgreSQL is cut during a commit, so its outcome is unknown. A second request settles it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product

import pytest

from tests.cast import ALICE
from tests.journey.stage import Stage
from tests.support.box import AgentClient, Box
from tests.support.cutting import Cutting
from tests.support.op import Op
from tests.support.process import until
from tests.support.services import Postgres

pytestmark = pytest.mark.slow

# What a sweep does is not what is cut off.
SETTINGS = {"DJANGO_SETTINGS_MODULE": "config.settings"}
MOST = 12  # messages that one request sends to the database, at most


@pytest.fixture(scope="module")
def line(postgres: Postgres) -> Iterator[Cutting]:
    made = Cutting(postgres.database())
    yield made
    made.close()


@pytest.fixture
def stage(line: Cutting, cut_off: Box, quiet_agents: Callable[..., AgentClient], corp: Op, drive: Op) -> Stage:
    return Stage(cut_off, quiet_agents(cut_off), corp, drive)


@pytest.fixture(scope="module")
def cut_off(line: Cutting, new_box: Callable[..., Box]) -> Box:
    return new_box("embedded", database_url=line.url, settings=SETTINGS)


@pytest.mark.limit(120)
def test_f13_a_create_whose_commit_nobody_heard_of_is_made_once_by_asking_again(line: Cutting, stage: Stage) -> None:
    body = {"kind": "confirm", "subject": ALICE.subject(stage.corp.issuer), "message": "May I?", "params": {}}
    stage.agent.post("/v1/elicitations", json=body)
    asked: dict[str, str] = {}
    kept, lost = 0, 0
    for before, nth in product((False, True), range(MOST)):
        key = f"key-{nth}-{before}-of-{stage.agent.slug}"
        line.arm(key, nth, before=before)
        first = stage.agent.post("/v1/elicitations", json=body, headers={"idempotency-key": key})
        line.disarm()
        if line.cuts and not first.is_success:
            assert (first.status_code, first.json()["code"]) == (503, "unavailable"), first.text
            assert int(first.headers["retry-after"]) > 0
        again = stage.agent.post("/v1/elicitations", json=body, headers={"idempotency-key": key})
        assert again.status_code in {200, 201}, again.text
        assert not first.is_success or first.json()["id"] == again.json()["id"]
        kept += not first.is_success and again.status_code == 200
        lost += not first.is_success and again.status_code == 201
        asked[key] = again.json()["id"]
    assert kept, "at least once it was committed and its agent was not told so"
    assert lost, "at least once it was not"
    rows = stage.sql("SELECT idempotency_key, id FROM elicit_flows_elicitation WHERE idempotency_key LIKE 'key-%%'")
    assert dict(rows) == asked
    events = stage.feed()
    assert sorted(one["elicitation"] for one in events if one["elicitation"] in asked.values()) == sorted(
        asked.values()
    )
    places = stage.sql(
        "SELECT e.position FROM elicit_flows_event e JOIN elicit_flows_agent a ON a.id = e.agent_id"
        " WHERE a.slug = %s ORDER BY e.position", stage.agent.slug,
    )  # fmt: skip
    assert [place for (place,) in places] == list(range(1, len(places) + 1))


@pytest.mark.limit(120)
def test_f13_a_cancel_whose_commit_nobody_heard_of_is_told_once(line: Cutting, stage: Stage) -> None:
    ended: list[str] = []
    refused = 0
    for before, nth in product((False, True), range(MOST)):
        asked = stage.ask(reuse="never")
        path = f"/v1/elicitations/{asked['id']}/cancel"
        line.arm(asked["id"], nth, before=before)
        first = stage.agent.post(path)
        line.disarm()
        assert first.status_code in {200, 503}, first.text
        refused += first.status_code == 503
        until(lambda path=path: stage.agent.post(path).status_code == 200, "it is cancelled")  # type: ignore[misc]
        ended.append(asked["id"])
    assert refused > 1
    told = [one["elicitation"] for one in stage.feed() if one["type"] == "elicitation.cancelled"]
    assert told == ended, "each once, and in the order in which they were cancelled"


def test_the_line_is_cut_where_it_is_told_to(line: Cutting, stage: Stage) -> None:
    """Shows that the tests above can fail: an armed line is cut, and one whose mark never comes is not."""
    for number in count(1):
        line.arm("nobody says this", 0, before=False)
        assert stage.ask(reuse="never")["status"] == "pending"
        assert line.cuts == 0
        # What is asked first changes nothing, so it is asked again on another connection.
        line.arm(f"look-{number}", 0, before=True)
        answer = stage.try_to_ask(key=f"look-{number}")
        assert (line.cuts, answer.status_code) == (1, 201)
        line.arm(f"cut-{number}", 1, before=True)
        answer = stage.try_to_ask(key=f"cut-{number}")
        assert (line.cuts, answer.status_code) == (1, 503)
        line.disarm()
        assert stage.try_to_ask(key=f"cut-{number}").status_code == 201
        if number == 2:
            return
