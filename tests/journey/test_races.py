"""Simultaneous requests: one exchange, one end and one event, in whichever order they arrive."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.journey.stage import Stage, query
from tests.support.http_user import HttpUser

TIMES = 20
HELD = 0.4  # seconds in which twenty requests arrive; shorter would only make a race less likely to be seen


def _at_once(
    stage: Stage, user: HttpUser, asked: dict[str, str], requests: list[httpx2.Request]
) -> list[httpx2.Response]:
    """Sends them at the same moment, over all web processes, and lets none write before all have looked."""
    urls = itertools.cycle(stage.box.urls)

    def send(request: httpx2.Request, base: str) -> httpx2.Response:
        request.url = request.url.copy_with(port=httpx2.URL(base).port)
        return user.send(request)

    with ThreadPoolExecutor(len(requests)) as pool:
        with stage.held(asked):
            answers = pool.map(send, requests, urls)
            time.sleep(HELD)
        return list(answers)


def _copies(request: httpx2.Request) -> list[httpx2.Request]:
    content = request.read()
    return [httpx2.Request(request.method, request.url, headers=request.headers, content=content) for _ in range(TIMES)]


def test_t26_twenty_callbacks_at_once_are_one_exchange(each_stage: Stage, http_user: HttpUser):
    stage = each_stage
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    answers = _at_once(stage, http_user, asked, _copies(httpx2.Request("GET", callback)))
    where = {(answer.status_code, answer.headers.get("location")) for answer in answers}
    assert where == {(303, f"/c/{asked['id']}/done")}
    assert stage.drive.counts()["token.authorization_code"] == 1
    assert stage.events(asked) == ["created", "started", "settling", "completed"]
    assert len(stage.connections()) == 1
    stage.check_invariants(asked)
    http_user.follow()
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")


def test_t26_twenty_presses_of_one_button_are_one_attempt(each_stage: Stage, http_user: HttpUser):
    stage = each_stage
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    answers = _at_once(stage, http_user, asked, _copies(http_user.form_request("continue")))
    places = {answer.headers["location"] for answer in answers}
    assert {answer.status_code for answer in answers} == {303}
    assert len(places) == 1
    assert stage.attempts(asked) == 1
    assert stage.events(asked) == ["created", "started"]
    http_user.open(places.pop())
    http_user.carry_on("alice", "allow")
    assert http_user.page_status == "completed"


@pytest.mark.slow
def test_t26_of_many_ways_out_one_leads_back(each_stage: Stage, http_user: HttpUser):
    stage = each_stage
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    presses = [http_user.form_request("continue", press=f"another rendering {number}") for number in range(6)]
    ways = [answer.headers["location"] for answer in _at_once(stage, http_user, asked, presses)]
    assert len({query(way)["state"] for way in ways}) == 6
    statement = "SELECT count(*) FROM elicit_flows_attempt WHERE used_at IS NULL AND elicitation_id = %s"
    assert stage.sql(statement, asked["id"]) == [(1,)]
    for way in ways:
        http_user.open(way)
        http_user.carry_on("alice", "allow")
    assert stage.status(asked) == "completed"
    assert stage.drive.counts()["token.authorization_code"] == 1
    stage.check_invariants(asked)


def test_t27_the_agent_cancels_while_the_answer_comes(each_stage: Stage, http_user: HttpUser):
    stage = each_stage
    for _ in range(5):
        asked = stage.ask(reuse="never")
        callback = stage.answer(http_user, asked)
        with ThreadPoolExecutor(2) as pool:
            cancelled = pool.submit(stage.agent.post, f"/v1/elicitations/{asked['id']}/cancel")
            answered = pool.submit(http_user.get, callback)
        assert (cancelled.result().status_code, stage.status(asked)) in {(200, "cancelled"), (409, "completed")}
        assert answered.result().status_code in {303, 410}
        stage.check_invariants(asked)
