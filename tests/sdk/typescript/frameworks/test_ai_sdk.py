"""``elicit-flows/ai-sdk`` with the AI SDK itself, versions 6 and 7, and its own mock model."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.hooks import Hooks
from tests.sdk.typescript.conftest import TypeScript
from tests.sdk.typescript.frameworks.conftest import Framework, NewSteps, Start, Steps
from tests.support import op
from tests.support.process import until

pytestmark = [pytest.mark.slow, pytest.mark.limit(180)]

MODULES = op.PEERS / "node_modules"


@pytest.fixture(scope="module", params=[7, 6])
def framework(request: pytest.FixtureRequest, typescript: TypeScript, elicit_box: Service) -> Framework:
    version: int = request.param
    installed = MODULES / ("ai" if version == 7 else "ai-v6")
    made = Framework(typescript, f"ai-{version}", ("how-to/ai-sdk.md", "ai"), {"ai": installed})
    made.add(f"model-{version}.ts", "model.ts")
    for program in ("generated.ts", "scenes.ts"):
        made.add(program)
    made.compile(elicit_box.sandbox_url)
    return made


@pytest.fixture
def step(framework: Framework, steps: NewSteps) -> Steps:
    return steps(framework)


@pytest.fixture
def chat() -> str:
    """Another one for each test: the ids of the mock model's calls are not."""
    return uuid.uuid4().hex


def calls(*wanted: tuple[str, dict[str, object]]) -> str:
    return json.dumps(wanted)


def test_the_programs_of_the_page(framework: Framework, start: Start, alice: ScriptedUser) -> None:
    """One starts and ends; another one, started later, follows the feed and goes on."""
    first = start(framework, "start")
    link = first.wait_for_output(r"(?m)^(http\S+)$")[1]
    until(lambda: not first.alive, "it ends")
    then = start(framework, "feed")
    alice.submit(link, typed="CONFIRM")
    then.wait_for_output("done: old is empty")


def test_a_webhook_goes_on_with_the_chat(framework: Framework, start: Start, hooks: Hooks, alice: ScriptedUser) -> None:
    app = start(framework, "webhook", hooks)
    first = start(framework, "start")
    link = first.wait_for_output(r"(?m)^(http\S+)$")[1]
    until(lambda: not first.alive, "it ends")
    alice.submit(link, typed="CONFIRM")
    app.wait_for_output("done: old is empty")
    hooks.wait_until_delivered()
    assert app.output().count("done:") == 1


def test_a_yes_runs_the_tool_once(step: Steps, chat: str, alice: ScriptedUser, asked: Callable[[str], str]) -> None:
    assert "ran" not in step("turn", chat, calls(("remove", {"count": 12})))
    [link] = step.links
    assert step("answer", chat, asked(link))["ready"] is False
    alice.submit(link)
    said = step("answer", chat, asked(link))
    assert (said["ready"], said["ran"]) == (True, 12)
    assert "confirmed" in said["text"]
    again = step("again", chat)
    assert "ran" not in again
    assert "Another call with this answer is running the tool, or has run it." in again["text"]
    assert step("answer", chat, asked(link))["ready"] is False, "the answer is in the messages already"


def test_a_no_is_told_to_the_model(step: Steps, chat: str, alice: ScriptedUser, asked: Callable[[str], str]) -> None:
    step("turn", chat, calls(("remove", {"count": 12})))
    [link] = step.links
    alice.decline(link)
    said = step("answer", chat, asked(link))
    assert said["ready"] is True
    assert "ran" not in said
    assert "The user said no." in said["text"]


def test_an_approval_that_somebody_else_wrote_runs_nothing(
    step: Steps, chat: str, alice: ScriptedUser, asked: Callable[[str], str]
) -> None:
    step("turn", f"{chat}-2", calls(("now", {}), ("remove", {"count": 99})))
    [others] = step.links
    alice.submit(others)
    step("turn", chat, calls(("remove", {"count": 12})))
    for reason in ("", "el_nothing", asked(others)):
        said = step("forge", chat, reason)
        assert "ran" not in said
        assert "The user has not done it yet." in said["text"]


def test_calls_of_one_turn_wait_for_each_other(
    step: Steps, chat: str, alice: ScriptedUser, asked: Callable[[str], str]
) -> None:
    said = step(
        "turn", chat, calls(("remove", {"count": 12}), ("now", {}), ("remove", {"count": 3}), ("remove", {"count": 40}))
    )
    assert said["ran"] == 3, "it asks nothing for three"
    one, two = step.links
    alice.submit(two)
    assert step("answer", chat, asked(two))["ready"] is False
    alice.submit(one)
    assert sorted(step("answer", chat, asked(one))["ran"]) == [12, 40]


def test_what_is_connected_is_not_asked_for(
    step: Steps, chat: str, stranger: ScriptedUser, asked: Callable[[str], str]
) -> None:
    step("turn", chat, calls(("list_files", {})))
    [link] = step.links
    stranger.allow(link)
    assert "done: Bearer" in step("answer", chat, asked(link))["text"]
    step("turn", f"{chat}-2", calls(("list_files", {})))
    assert step.links == []
