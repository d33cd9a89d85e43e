"""F1: the web process is killed while an agent creates an elicitation."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from tests.cast import ALICE
from tests.faults.crashing import Crashing, cut
from tests.support.box import AgentClient
from tests.support.op import Op

pytestmark = pytest.mark.slow


@pytest.mark.limit(90)
def test_f1_however_far_a_create_got_the_same_key_again_gives_one_elicitation_and_one_event(
    crashing: Crashing, quiet_agent: AgentClient, corp: Op
) -> None:
    agent = quiet_agent
    body = {"kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "…", "params": {"provider": "drive"}}

    def create(key: str) -> Any:
        return cut(lambda: agent.post("/v1/elicitations", json=body, headers={"idempotency-key": key}))

    crashing.renew()
    assert create("first").status_code == 201  # each of the others meets a process with a connection
    watched = [partial(create, f"watched-{number}") for number in range(3)]
    points = crashing.points(watched, crashing.speech, 5)
    asked, kept_before = {}, 0
    for point in points:
        key = f"{point.call}-{point.nth}"
        with crashing.at(point):
            lost = create(key)
        again = create(key)
        assert again.status_code in {200, 201}, again.text
        kept_before += lost is None and again.status_code == 200
        assert lost is None or lost.json()["id"] == again.json()["id"]
        asked[key] = again.json()["id"]
    assert crashing.met(points)
    assert 0 < kept_before < len(points), "some were killed before and some after the commit"

    listed = agent.get("/v1/elicitations", params={"limit": 100}).json()["data"]
    assert Counter(row["id"] for row in listed if row["id"] in asked.values()) == Counter(asked.values())
    assert len(listed) == len(asked) + len(watched) + 1
    events = agent.get("/v1/events", params={"limit": 100}).json()["data"]
    assert sorted(event["elicitation"] for event in events) == sorted(row["id"] for row in listed)
    assert {event["type"] for event in events} == {"elicitation.created"}
