"""Tasks, for clients that declare ``io.modelcontextprotocol/tasks``: the question's state is the task's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp import types

from elicit_flows.domain.status import Status
from elicit_flows.sdk import Elicit, Elicitation, outcome_of
from elicit_flows.sdk.mcp import running
from elicit_flows.sdk.mcp.asking import acts
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.task import DIED, Task
from elicit_flows.sdk.mcp.task_attempt import Attempt, current
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.fake import COMPLETED, FakeService, problem
from tests.sdk.mcp.clients import MODERN, Host, talking
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import NEW, URL, Json, Modern
from tests.sdk.mcp.task_client import TakesTasks
from tests.sdk.mcp.test_cases import name_in
from tests.support.process import until

pytestmark = pytest.mark.slow

EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
CAN = {**URL, **EXTENSION}
UNKNOWN = (-32602, "taskId: There is no such task.")
PEOPLE = {"alice": ["desk", "alice"], "alice elsewhere": ["phone", "alice"], "bob": ["desk", "bob"]}
OVER = {"completed", "failed", "cancelled"}


class Client(Modern):
    """One that takes tasks."""

    def begin(self, tool: str, arguments: Json | None = None, *, can: Json = CAN) -> str:
        """The id of the task that the call became."""
        task = self.call(tool, arguments, can=can)["result"]
        assert (task["resultType"], task["status"]) == ("task", "input_required")
        assert not {"inputRequests", "requestState", "result"} & task.keys()
        return str(task["taskId"])

    def task(self, verb: str, id: str, called: str = "", *, can: Json = CAN, **more: Any) -> Json:
        return self.request(f"tasks/{verb}", {"taskId": id, **more}, called or id, can=can)

    def stands(self, id: str) -> Json:
        answer: Json = self.task("get", id)["result"]
        assert (answer["resultType"], answer["taskId"]) == ("complete", id)
        return answer

    def link(self, id: str) -> str:
        """Where the user is asked to go; its key is the question's id."""
        stands = self.stands(id)
        assert stands["status"] == "input_required"
        [(key, asked)] = stands["inputRequests"].items()
        NEW.check("ElicitRequest", asked)
        assert name_in(asked["params"]["url"]) == key
        return str(asked["params"]["url"])

    def reply(self, id: str, action: str) -> None:
        key = name_in(self.link(id))
        answer = self.task("update", id, inputResponses={key: {"action": action}, "unknown": {"x": 1}})
        assert answer["result"] == {"resultType": "complete"}

    def ended(self, id: str) -> Json:
        return until(lambda: (seen := self.stands(id))["status"] in OVER and seen, "the task is over")

    def said(self, id: str) -> str:
        ended = self.ended(id)
        assert ended["status"] == "completed"
        return str(types.CallToolResult.model_validate(ended["result"]).content[0].text)


def denied(answer: Json) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["message"]


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools()


@pytest.fixture
def client(tools: Tools) -> Client:
    assert tools.ran is not None
    return Client(tools.url)


def test_a_call_becomes_a_task_and_the_tool_runs_when_the_user_is_through(
    tools: Tools, client: Client, alice: ScriptedUser
) -> None:
    task = client.begin("wipe", {"disk": "t1"})
    link = client.link(task)
    client.reply(task, "accept")
    assert client.stands(task)["status"] == "working", "to agree to open a link is not to have done it"
    assert "inputRequests" not in client.stands(task)
    assert tools.ran == []
    alice.submit(link)
    assert client.said(task) == "done: wiped t1"
    assert client.said(task) == "done: wiped t1", "it can be read again"
    assert tools.ran == ["wiped t1"]


def test_the_members_of_a_task(client: Client) -> None:
    task = client.call("wipe", {"disk": "t2"}, can=CAN)["result"]
    assert task["pollIntervalMs"] == 2000
    assert task["ttlMs"] == (900 + 24 * 3600) * 1000
    assert {"createdAt", "lastUpdatedAt"} < task.keys()
    assert "ttl" not in task


def test_the_server_says_that_it_does_tasks(client: Client) -> None:
    can = client.request("server/discover", {})["result"]["capabilities"]
    assert can["extensions"] == EXTENSION["extensions"]
    assert "tools" in can


def test_who_declares_no_tasks_gets_none(client: Client) -> None:
    assert client.call("wipe", {"disk": "t3"})["result"]["resultType"] == "input_required"
    task = client.begin("wipe", {"disk": "t3"})
    for verb in ("get", "update", "cancel"):
        error = client.task(verb, task, can=URL)["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": EXTENSION})
    assert client.status == 400


def test_who_opens_no_links_gets_it_in_words(client: Client) -> None:
    answer = client.call("wipe", {"disk": "t4"}, can=EXTENSION)["result"]
    assert answer["resultType"] == "complete"
    assert answer["content"][0]["text"].startswith("waiting: ")


def test_what_needs_nobody_is_answered_at_once(client: Client) -> None:
    assert client.call("delete", {"size": 3}, can=CAN)["result"]["content"][0]["text"] == "done: deleted 3"


def test_several_guards_ask_one_after_the_other(tools: Tools, client: Client, alice: ScriptedUser) -> None:
    task = client.begin("both", {"name": "t5"})
    first = client.link(task)
    alice.submit(first, plan="pro")
    second = client.link(task)
    assert second != first
    alice.submit(second)
    assert tools.ran == []
    assert client.said(task) == "done: form confirm"
    assert tools.ran == ["form confirm"]


@pytest.mark.parametrize(("action", "said"), [("decline", "declined: "), ("cancel", "cancelled: ")])
def test_a_no_in_the_client_ends_it(tools: Tools, client: Client, elicit_box: Service, action: str, said: str) -> None:
    task = client.begin("wipe", {"disk": action})
    asked = name_in(client.link(task))
    client.reply(task, action)
    assert client.said(task).startswith(said)
    assert tools.ran == []
    with elicit_box.sync_elicit() as elicit:
        assert elicit.get(asked).status is Status.CANCELLED


def test_a_no_on_the_page_ends_it(tools: Tools, client: Client, alice: ScriptedUser) -> None:
    task = client.begin("wipe", {"disk": "t6"})
    alice.decline(client.link(task))
    assert client.said(task) == "declined: The user said no. Do not call this again unless they ask for it."
    assert tools.ran == []


def test_cancelling_takes_the_question_back(client: Client, elicit_box: Service) -> None:
    task = client.begin("wipe", {"disk": "t7"})
    asked = name_in(client.link(task))
    for _ in range(2):
        assert client.task("cancel", task)["result"] == {"resultType": "complete"}
    assert client.stands(task)["status"] == "cancelled"
    with elicit_box.sync_elicit() as elicit:
        assert elicit.get(asked).status is Status.CANCELLED
    assert name_in(client.link(client.begin("wipe", {"disk": "t7"}))) != asked, "called anew it is asked anew"


def test_what_is_over_is_not_cancelled(client: Client, alice: ScriptedUser) -> None:
    task = client.begin("wipe", {"disk": "t8"})
    alice.submit(client.link(task))
    assert client.task("cancel", task)["result"] == {"resultType": "complete"}
    assert client.said(task) == "done: wiped t8"
    assert client.task("cancel", task)["result"] == {"resultType": "complete"}
    assert client.stands(task)["status"] == "completed"


def test_a_tool_outlives_the_request_that_found_the_user_through(
    tools: Tools, client: Client, alice: ScriptedUser
) -> None:
    task = client.begin("slow", {"seconds": 1.5})
    alice.submit(client.link(task))
    assert client.stands(task)["status"] == "working"
    assert client.said(task) == "done: slow ended"
    assert tools.ran == ["slow began", "slow ended"]


def test_a_tools_own_error_is_a_result_and_one_of_the_protocol_is_a_failure(
    client: Client, alice: ScriptedUser
) -> None:
    mistaken, broken = (client.begin("fails", {"how": how}) for how in ("tool", "protocol"))
    for task in (mistaken, broken):
        alice.submit(client.link(task))
    ended = client.ended(mistaken)
    assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
    ended = client.ended(broken)
    assert (ended["status"], ended["error"]) == ("failed", {"code": -32000, "message": "protocol"})
    assert "result" not in ended


def test_a_result_that_is_too_long_to_keep_says_so(tools: Tools, client: Client, alice: ScriptedUser) -> None:
    kept, lost = (client.begin("much", {"size": size}) for size in (20_000, 200_000))
    for task in (kept, lost):
        alice.submit(client.link(task))
    assert client.said(kept) == "x" * 20_000
    ended = client.ended(lost)
    assert ended["result"]["isError"] is True
    assert "too long to be stored" in client.said(lost)
    assert tools.ran == ["much", "much"]


@pytest.mark.slow
def test_it_survives_a_restart_of_the_server(tools: Tools, client: Client, alice: ScriptedUser) -> None:
    task = client.begin("wipe", {"disk": "t9"})
    client.reply(task, "accept")
    tools.restart()
    again = Client(tools.url)
    assert again.stands(task)["status"] == "working"
    alice.submit(again.call("wipe", {"disk": "t9"})["result"]["inputRequests"].popitem()[1]["params"]["url"])
    assert again.said(task) == "done: wiped t9"
    tools.restart()
    assert Client(tools.url).said(task) == "done: wiped t9"
    assert tools.ran == ["wiped t9"]


@pytest.mark.slow
def test_t67_two_servers_by_turns_run_it_once(
    tools: Tools, new_tools: Callable[..., Tools], elicit_box: Service, alice: ScriptedUser
) -> None:
    with elicit_box.sync_elicit() as elicit:
        for connection in elicit.connections(alice.claim):
            elicit.revoke(connection)
    servers = [tools, new_tools()]
    one, other = (Client(server.url) for server in servers)
    task = one.begin("files")
    alice.allow(other.link(task))
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda turn: Client(servers[turn % 2].url).said(task), range(8)))
    assert said == ["done: listed"] * 8
    assert [line for server in servers for line in server.ran] == ["listed"]


@pytest.mark.anyio
@pytest.mark.parametrize("of_a_task", [True, False])
async def test_t67_what_connects_is_acted_on_by_one_of_those_who_have_the_task_and_by_all_who_have_no(
    service: FakeService, elicit: Elicit, of_a_task: bool
) -> None:
    async def begin() -> None:
        """Nobody has noted yet that it began."""

    attempt = Attempt(begin=begin if of_a_task else None)
    service.on("POST", "/v1/elicitations/el_1/consume", problem(409, "already_consumed"))
    asker, outcome = SimpleNamespace(elicit=lambda: elicit), outcome_of(Elicitation.read(COMPLETED))
    assert await acts(cast(Call, SimpleNamespace(attempt=attempt)), [(cast(Asker, asker), outcome)]) is not of_a_task


def test_a_call_by_rounds_that_was_quicker_has_the_answer(tools: Tools, client: Client, alice: ScriptedUser) -> None:
    """The same call of the same user and client is the same question. Its answer is valid for one run."""
    task = client.begin("wipe", {"disk": "t10"})
    asked = client.call("wipe", {"disk": "t10"})
    alice.submit(client.link(task))
    assert client.retry(asked, "wipe", {"disk": "t10"})["result"]["content"][0]["text"] == "done: wiped t10"
    assert client.said(task).startswith("cancelled: Another call with this answer")
    assert tools.ran == ["wiped t10"]


def test_t62_a_task_is_good_for_who_it_was_given_to_alone(
    new_tools: Callable[..., Tools], elicit_box: Service, alice: ScriptedUser
) -> None:
    tools = new_tools(user=None, people=PEOPLE, issuer=elicit_box.sandbox_url)
    hers = Client(tools.url, "alice")
    task = hers.begin("wipe")
    asked = name_in(hers.link(task))
    for other in ("bob", "alice elsewhere"):
        stranger = Client(tools.url, other)
        more = {"inputResponses": {asked: {"action": "cancel"}}}
        for verb, said in (("get", {}), ("update", more), ("cancel", {})):
            assert denied(stranger.task(verb, task, **said)) == UNKNOWN
    alice.submit(hers.link(task))
    assert denied(Client(tools.url, "bob").task("get", task)) == UNKNOWN
    assert hers.said(task) == "done: wiped a"


def test_an_id_that_is_none_of_ours_is_unknown(client: Client) -> None:
    task = client.begin("wipe", {"disk": "t11"})
    flipped = task[:-1] + ("A" if task[-1] != "A" else "B")
    for other in (flipped, "el_1", name_in(client.link(task))):
        for verb in ("get", "update", "cancel"):
            assert denied(client.task(verb, other)) == UNKNOWN


def test_malformed_requests_are_refused(client: Client) -> None:
    task = client.begin("wipe", {"disk": "t12"})
    key = name_in(client.link(task))
    for responses in ({key: 1}, {key: {"action": "maybe"}}, [key]):
        assert client.task("update", task, inputResponses=responses)["error"]["code"] == -32602
    assert client.request("tasks/get", {}, can=CAN)["error"]["code"] == -32602
    assert client.task("get", task, called="another")["error"]["code"] == -32020
    assert client.status == 400
    assert client.request("tasks/list", {}, can=CAN)["error"]["code"] == -32601
    assert client.stands(task)["status"] == "input_required"


@pytest.mark.anyio
async def test_a_client_on_the_librarys_own_interface_follows_it_to_the_end(tools: Tools, alice: ScriptedUser) -> None:
    host = Host(alice.submit)
    takes = TakesTasks(host)
    async with talking(tools.url, MODERN, host, extensions=[takes]) as client:
        result = await client.call_tool("wipe", {"disk": "t13"})
    assert result.content[0].text == "done: wiped t13"
    assert len(host.links) == 1
    assert (takes.seen[0], takes.seen[-1]) == ("input_required", "completed")


def noted(consumed: bool = True, **members: str) -> Task:
    """A task that nobody asks a service for."""
    body = {**COMPLETED, "consumed_at": "2026-11-21T10:06:00Z" if consumed else None}
    asked = Elicitation.read(body)
    return Task("task", asked, [asked], {"call": "{}", "at": asked.id, "state": "{}", **members})


def seconds_ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def test_a_server_that_went_away_while_the_tool_ran_is_a_failure_after_a_minute() -> None:
    running, gone = noted(beat=seconds_ago(50)), noted(beat=seconds_ago(70))
    assert running.told()["status"] == "working"
    assert not running.due
    assert gone.told()["error"] == {"code": -32603, "message": DIED["message"]}
    assert noted(beat=seconds_ago(70), result="{}").told()["status"] == "completed", "what has ended has ended"
    assert not gone.due, "what was begun is not begun again"
    assert noted(consumed=False, beat=seconds_ago(70)).due, "it had not acted yet"


@pytest.mark.anyio
async def test_a_tool_that_runs_for_long_is_heard_of_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.05)
    ended, service = asyncio.Event(), Noting()

    async def tool(call: Json) -> Json:
        current().acts = True
        await asyncio.wait_for(ended.wait(), 10)
        return {"content": []}

    runs = running.Runs(lambda: service)
    monkeypatch.setattr(running, "MOMENT_SECONDS", 0.01)
    await runs.moment(noted(consumed=False), tool)
    while len(service.noted) < 2:
        await asyncio.sleep(0.01)
    assert all(members.keys() == {"beat"} for members in service.noted)
    ended.set()
    while "result" not in service.noted[-1]:
        await asyncio.sleep(0.01)


class Noting:
    def __init__(self) -> None:
        self.noted: list[dict[str, str | None]] = []

    async def add_to_note(self, elicitation: Elicitation, changes: dict[str, str | None]) -> None:
        self.noted.append(changes)
