"""Elicitations with steps, and everybody at once: the user in two windows, the agent, and time.

STEPS_SEED=7 plays another history.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.journey.stage import TERMINAL, Json, Stage
from tests.support.http_user import HttpUser

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("STEPS_SEED", "1"))
MOVE = {"kind": "confirm", "params": {"detail": "Move 12 files."}}
ASK = {
    "kind": "form",
    "params": {"questions": [{"id": "name", "kind": "text", "message": "Name?", "required": True}], "shared": True},
}
READ = {"kind": "link", "params": {"url": "https://example.com/terms", "completion": "by_agent"}}
FINE = {200, 303, 409, 410}  # done, led on, not now, over


def test_whatever_happens_at_once_there_is_one_end_and_what_was_done_is_told_in_order(
    each_stage: Stage, new_http_user: Callable[..., HttpUser]
) -> None:
    stage, rng = each_stage, random.Random(SEED)
    windows = [new_http_user() for _ in range(2)]
    for window in windows:
        window.open(f"{stage.box.url}/account")
        window.carry_on("signin", "alice")
    ends: set[str] = set()
    for _ in range(12):
        each = [rng.choice([MOVE, ASK, READ]) for _ in range(rng.randint(2, 4))]
        asked = stage.ask(kind="steps", params={"steps": each})
        for _ in range(12):
            answers = _at_once(stage, asked, windows, rng)
            assert {answer.status_code for answer in answers} <= FINE, [answer.text[:300] for answer in answers]
            if stage.status(asked) in TERMINAL:
                break
        else:
            stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
        _check(stage, asked, each)
        ends.add(stage.status(asked))
    assert len(ends) > 1, "the history is one in which they end differently"


def _at_once(stage: Stage, asked: Json, windows: list[HttpUser], rng: random.Random) -> list[httpx2.Response]:
    """Two or three of them act, and none waits for another."""
    one = f"/v1/elicitations/{asked['id']}"
    acts: list[Callable[[], httpx2.Response]] = []
    for window in windows:
        window.open(asked["url"])
        said = rng.choices(["submit", "decline"], [12, 1])[0]
        if said in window.actions():
            acts.append(_pressing(window, said))
    acts += rng.choices(
        [lambda: stage.agent.post(f"{one}/complete"), lambda: stage.agent.post(f"{one}/cancel"),
         lambda: stage.agent.get(one), lambda: _answering(stage, one)],
        [10, 1, 5, 5], k=2,
    )  # fmt: skip
    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(lambda act: act(), acts))


def _pressing(window: HttpUser, what: str) -> Callable[[], httpx2.Response]:
    asks = "q0" in dict(window.page.forms[what].fields)
    request = window.form_request(what, **({"q0": "Atlas"} if asks else {}))
    return lambda: window.send(request)


def _answering(stage: Stage, one: str) -> httpx2.Response:
    answer = {"answer": {"state": "submitted", "value": "Atlas"}}
    return stage.agent.put(f"{one}/draft/name", json=answer)


def _check(stage: Stage, asked: Json, each: list[Json]) -> None:
    told = stage.look(asked)
    events = [event for event in stage.feed() if event["elicitation"] == asked["id"]]
    assert [event["type"] for event in events if event["type"].partition(".")[2] in TERMINAL] == [
        f"elicitation.{told['status']}"
    ]
    assert events[-1]["data"] == told
    seqs = [event["seq"] for event in events]
    assert seqs == sorted(set(seqs))
    whole = [event["data"] for event in events if event["type"] != "elicitation.draft"]
    done = [[one["kind"] for one in (data["result"] or {}).get("steps", [])] for data in whole]
    assert all(kinds == [one["kind"] for one in each][: len(kinds)] for kinds in done), "in order, and none left out"
    assert [len(kinds) for kinds in done] == sorted(len(kinds) for kinds in done), "what is done stays done"
    assert (told["status"] == "completed") == (len(done[-1]) == len(each))
    written = [event["data"]["draft"] for event in events if event["type"] == "elicitation.draft"]
    assert set(map(str, written)) <= {"None"}, "nothing of what was written is told after the end"
    kept = "SELECT count(*) FROM elicit_flows_draft JOIN elicit_flows_elicitation e ON e.id = elicitation_id"
    unsent = stage.sql(f"{kept} WHERE e.parent_id = %s AND e.status <> 'completed'", asked["id"])
    assert unsent == [(0,)], "and nothing unsent is kept"
