"""F19: every request of a browser or an agent is sent three more times, without any further effect."""

from __future__ import annotations

import httpx2
import pytest

from tests.journey.stage import Json, Stage
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink


@pytest.fixture
def stage(embedded_box: Box, corp: Op, drive: Op) -> Stage:
    return Stage(embedded_box, embedded_box.fresh_agent(), corp, drive)


class Recorded:
    """Every request that the user's browser sent to our service, as it was sent."""

    def __init__(self, user: HttpUser, url: str) -> None:
        self.requests: list[httpx2.Request] = []
        self._url = url
        user.http.event_hooks = {"request": [self._keep]}

    def _keep(self, request: httpx2.Request) -> None:
        if str(request.url).startswith(self._url):
            self.requests.append(request)


def effects(stage: Stage, asked: Json) -> tuple[object, ...]:
    """All that a journey may leave behind."""
    tokens = stage.drive.counts().get("token", 0)
    return stage.look(asked), stage.events(), stage.connections(), tokens, stage.attempts(asked)


@pytest.mark.slow
@pytest.mark.parametrize("decide", ["allow", "deny"])
def test_f19_every_request_of_a_browser_three_times_more_changes_nothing(
    stage: Stage, http_user: HttpUser, decide: str
) -> None:
    recorded, asked = Recorded(http_user, stage.box.url), stage.ask()
    http_user.connect(asked["url"], "alice", decide=decide)
    assert stage.status(asked) == ("completed" if decide == "allow" else "declined")
    before = effects(stage, asked)
    sent = list(recorded.requests)
    assert {"GET", "POST"} == {request.method for request in sent}
    assert [request.url.path for request in sent].count("/callback/drive") == 1
    for request in sent:
        for _ in range(3):
            answer = http_user.send(request)
            assert answer.status_code < 500, (request.url, answer.text)
    assert effects(stage, asked) == before
    stage.check_invariants(asked)


def test_f19_each_callback_three_times_at_once_is_taken_once(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    answers = http_user.at_once(http_user.http.build_request("GET", callback), 3)
    assert {answer.headers.get("location") for answer in answers} == {f"/c/{asked['id']}/done"}
    assert stage.drive.counts()["token"] == 1
    assert stage.events(asked) == ["created", "started", "settling", "completed"]
    assert len(stage.connections()) == 1


def test_f19_each_request_of_an_agent_three_times_has_one_effect(stage: Stage, http_user: HttpUser, sink: Sink) -> None:
    path = f"/{stage.agent.slug}"
    asked = [stage.ask(key="the same") for _ in range(4)]
    assert len({one["id"] for one in asked}) == 1
    stage.complete(http_user, asked[0])
    taken_back = stage.ask(reuse="never")
    for _ in range(4):
        assert stage.agent.post(f"/v1/elicitations/{taken_back['id']}/cancel").json()["status"] == "cancelled"
    [connection] = stage.connections()
    gone = [stage.agent.delete(f"/v1/connections/{connection['id']}").status_code for _ in range(4)]
    assert gone[0] == 204
    assert set(gone) <= {204, 404, 410}
    expected = [
        *("created", "started", "settling", "completed"),
        *("created", "cancelled"),
        "connection.revoked",
    ]
    assert stage.events() == expected
    assert stage.drive.counts()["token"] == 1
    until(lambda: len({one.id for one in sink.received(path)}) == len(expected), "the webhooks have come")
    assert len(sink.received(path)) == len(expected), "each event is sent once"


def test_f19_a_delivery_replayed_three_times_is_the_same_event(stage: Stage, sink: Sink) -> None:
    path = f"/{stage.agent.slug}"
    asked = stage.ask()
    sink.wait_for_event(path, "elicitation.created", asked["id"])

    def delivered() -> list[Json]:
        found = stage.agent.get("/v1/webhooks/deliveries", params={"status": "delivered"})
        return list(found.json()["data"])

    [sent] = until(delivered, "it is delivered")
    for number in range(2, 5):
        stage.agent.post(f"/v1/webhooks/deliveries/{sent['id']}/replay")
        sink.wait_for(path, number)
    assert len({(one.id, one.body) for one in sink.received(path)}) == 1
    assert stage.events() == ["created"]
