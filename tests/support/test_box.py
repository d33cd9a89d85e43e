"""The service in a box: both shapes come up, work together with their peers, can be killed, and come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.cast import ALICE, DRIVE_BOT, OLGA, PHOTO_BOT
from tests.support import dump
from tests.support.box import AgentClient, Box, answers_ready
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.process import until
from tests.support.sink import Sink
from tests.support.strace import crash_at, watching

pytestmark = pytest.mark.slow


def ask(agent: AgentClient, corp: Op) -> dict[str, str]:
    body = {"kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "…", "params": {"provider": "drive"}}
    answer = agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("kind", ["http_user", "user"])
def test_alice_goes_from_the_link_to_the_end_and_her_agent_is_told(
    request: pytest.FixtureRequest, box: Box, corp: Op, drive: Op, sink: Sink, kind: str
) -> None:
    agent, person = box.fresh_agent(), request.getfixturevalue(kind)
    assert isinstance(person, Persona)
    asked = ask(agent, corp)
    person.connect(asked["url"], ALICE.sub)
    assert person.page_name == "done", person.text
    delivery = sink.wait_for_event(f"/{agent.slug}", "elicitation.completed", asked["id"])
    assert delivery.verify(agent.webhook_secret)["data"]["status"] == "completed"
    connection = delivery.event["data"]["result"]["connection"]
    token = agent.post(f"/v1/connections/{connection}/token", json={}).json()["access_token"]
    assert drive.http.get("/api/whoami", headers={"authorization": f"Bearer {token}"}).json()["sub"] == ALICE.sub
    assert drive.counts()["token.authorization_code"] == 1


def test_agents_have_keys_of_their_own(box: Box) -> None:
    fresh = [box.fresh_agent() for _ in range(2)]
    agents = [box.agent(DRIVE_BOT.slug), box.agent(PHOTO_BOT.slug), *fresh]
    assert len({one.api_key for one in agents}) == 4
    assert [one.get("/v1/elicitations").status_code for one in agents] == [200] * 4
    assert fresh[0].get("/v1/elicitations").json()["data"] == []


def test_every_web_process_answers(full_box: Box) -> None:
    assert full_box.webs == ["web", "web2"]
    assert all(answers_ready(url) for url in full_box.urls)


@pytest.fixture
def own_box(new_box: Callable[..., Box]) -> Box:
    return new_box("embedded")


def test_a_killed_web_process_comes_back_with_everything_it_knew(own_box: Box, corp: Op) -> None:
    agent = own_box.agent(DRIVE_BOT.slug)
    asked = ask(agent, corp)
    own_box.kill9("web")
    with pytest.raises(httpx2.TransportError):
        agent.get("/healthz")
    own_box.restart("web")
    assert agent.get(f"/v1/elicitations/{asked['id']}").json()["status"] == "pending"


def test_a_killed_worker_and_beat_come_back_and_do_their_work(full_box: Box, corp: Op, sink: Sink) -> None:
    for name in ("worker", "beat"):
        full_box.kill9(name)
        assert not full_box.processes[name].alive
        full_box.restart(name)
    agent = full_box.fresh_agent()
    asked = ask(agent, corp)
    sink.wait_for_event(f"/{agent.slug}", "elicitation.created", asked["id"])


def test_a_box_that_rests_uses_nothing_and_goes_on_where_it_was(own_box: Box, corp: Op, sink: Sink) -> None:
    agent = own_box.agent(DRIVE_BOT.slug)
    asked = ask(agent, corp)
    own_box.rest()
    used = [Path(f"/proc/{own_box.pid(name)}/stat").read_text().split()[13:15] for name in own_box.processes]
    with pytest.raises(httpx2.TimeoutException):
        httpx2.get(f"{own_box.url}/livez", trust_env=False, timeout=1.5)
    after = [Path(f"/proc/{own_box.pid(name)}/stat").read_text().split()[13:15] for name in own_box.processes]
    assert after == used
    own_box.wake()
    assert agent.post(f"/v1/elicitations/{asked['id']}/cancel").status_code == 200
    sink.wait_for_event(f"/{agent.slug}", "elicitation.cancelled", asked["id"])


def test_a_stopped_box_has_ended_in_order(own_box: Box) -> None:
    own_box.stop()
    assert not any(process.alive for process in own_box.processes.values())
    assert "Traceback" not in own_box.logs()


def test_olga_can_enter_the_admin(own_box: Box, http_user: HttpUser) -> None:
    own_box.add_operator()
    http_user.open(f"{own_box.url}/admin/")
    form = {"username": OLGA.username, "password": OLGA.password, "next": "/admin/"}
    token = http_user.http.cookies["csrftoken"]
    sent = http_user.http.post(http_user.url, data={**form, "csrfmiddlewaretoken": token})
    assert (sent.status_code, sent.headers["location"]) == (302, "/admin/"), sent.text
    http_user.open(f"{own_box.url}/admin/")
    assert http_user.url == f"{own_box.url}/admin/"


def test_the_stores_can_be_read_whole(box: Box, corp: Op) -> None:
    asked = ask(box.fresh_agent(), corp)
    assert asked["id"] in dump.database(box.database_url)
    assert box.redis_url is None or isinstance(dump.redis_database(box.redis_url), str)


def test_strace_counts_and_kills_where_it_is_told(own_box: Box, corp: Op) -> None:
    agent = own_box.agent(DRIVE_BOT.slug)
    with watching(own_box.pid(), "fdatasync,fsync") as trace:
        ask(agent, corp)
    assert trace.busiest() >= 1
    with crash_at(own_box.pid(), 1, "fdatasync,fsync"):
        with pytest.raises(httpx2.TransportError):
            ask(agent, corp)
        until(lambda: not own_box.processes["web"].alive, "the web process is dead", timeout=5)
    own_box.restart("web")
    ask(agent, corp)


def test_two_people_in_two_browsers_do_not_share_a_session(box: Box, new_user: Callable[..., User], corp: Op) -> None:
    asked = ask(box.fresh_agent(), corp)
    alice, bob = new_user(), new_user()
    alice.open(asked["url"])
    alice.carry_on("signin", "alice")
    bob.open(asked["url"])
    bob.carry_on("signin", "bob")
    assert (alice.page_name, bob.page_name) == ("consent", "mismatch")
