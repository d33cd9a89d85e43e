"""``elicit-flows/mastra`` with Mastra itself, its store in a file, and a model that calls what it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.hooks import Hooks
from tests.sdk.typescript.conftest import TypeScript
from tests.sdk.typescript.frameworks.conftest import Framework, NewSteps, Start, Steps
from tests.support import op
from tests.support.process import until

pytestmark = [pytest.mark.slow, pytest.mark.limit(240)]

DELETE = json.dumps([("deleteFiles", {"folder": "old"})])


@pytest.fixture(scope="module")
def framework(typescript: TypeScript, elicit_box: Service) -> Framework:
    op.node("mastra")
    packages = {"@mastra": op.PEERS / "mastra" / "node_modules" / "@mastra"}
    made = Framework(typescript, "mastra", ("how-to/mastra.md", "mastra"), packages)
    made.add("mastra-model.ts", "model.ts")
    made.add("mastra-scenes.ts", "scenes.ts")
    made.add("generated.ts")
    made.compile(elicit_box.sandbox_url)
    return made


@pytest.fixture
def step(framework: Framework, steps: NewSteps) -> Steps:
    return steps(framework)


def test_the_programs_of_the_page(framework: Framework, start: Start, stranger: ScriptedUser) -> None:
    """One starts and ends; another one, started later, follows the feed and resumes both runs."""
    first = start(framework, "start")
    until(lambda: not first.alive, "it ends")
    deletes, connects = [line for line in first.output().splitlines() if line.startswith("http")]
    then = start(framework, "feed")
    stranger.submit(deletes, typed="CONFIRM")
    stranger.allow(connects)
    then.wait_for_output("done: old is empty")
    then.wait_for_output("done: old with Bearer")


def test_a_webhook_resumes_the_runs(framework: Framework, start: Start, hooks: Hooks, stranger: ScriptedUser) -> None:
    app = start(framework, "webhook", hooks)
    first = start(framework, "start")
    until(lambda: not first.alive, "it ends")
    deletes, connects = [line for line in first.output().splitlines() if line.startswith("http")]
    stranger.submit(deletes, typed="CONFIRM")
    stranger.allow(connects)
    app.wait_for_output("done: old is empty")
    app.wait_for_output("done: old with Bearer")
    hooks.wait_until_delivered()
    assert app.output().count("done:") == 2


def test_the_link_of_a_question_that_is_asked_anew_is_sent(
    framework: Framework, start: Start, stranger: ScriptedUser
) -> None:
    """The model calls the tool once more after a no: the program that resumed its run has the link."""
    first = start(framework, "start")
    until(lambda: not first.alive, "it ends")
    [deletes, _] = [line for line in first.output().splitlines() if line.startswith("http")]
    then = start(framework, "feed", INSISTS="1")
    stranger.decline(deletes)
    again = then.wait_for_output(r"(?m)^(http\S+)$").group(1)
    assert again != deletes
    stranger.submit(again, typed="CONFIRM")
    then.wait_for_output("done: old is empty")


def test_two_calls_of_one_turn_are_answered_in_any_order(
    step: Steps, alice: ScriptedUser, asked: Callable[[str], str]
) -> None:
    for order in ((0, 1), (1, 0)):
        step("ask", json.dumps([("deleteFiles", {"folder": folder}) for folder in ("old", "older")]))
        links = step.links
        assert len(links) == 2
        for which in order:
            alice.submit(links[which], typed="CONFIRM")
            said = step("resume", asked(links[which]))
        assert "done: old is empty" in said["agent"]
        assert "done: older is empty" in said["agent"]


def test_a_yes_runs_the_tool_once_and_nothing_else_does(
    step: Steps, alice: ScriptedUser, asked: Callable[[str], str]
) -> None:
    assert step("ask", DELETE)["finish"] == "suspended"
    [link] = step.links
    assert step("force")["forced"] == "suspended", "resumed without an answer, it is suspended again"
    assert step("resume", asked(link)) == {"agent": None, "workflow": None, "end": True}
    alice.submit(link, typed="CONFIRM")
    assert "done: old is empty" in step("resume", asked(link))["agent"]
    assert step("resume", asked(link))["agent"] is None


def test_a_no_is_told_to_the_model(step: Steps, alice: ScriptedUser, asked: Callable[[str], str]) -> None:
    step("ask", DELETE)
    [link] = step.links
    alice.decline(link)
    assert "The user said no." in step("resume", asked(link))["agent"]


def test_a_step_is_not_asked_for_what_is_connected_and_ends_with_a_no(
    step: Steps, stranger: ScriptedUser, asked: Callable[[str], str]
) -> None:
    step("report")
    [link] = step.links
    stranger.decline(link)
    assert step("resume", asked(link))["workflow"] == "failed"
    step("report")
    [link] = step.links
    stranger.allow(link)
    assert step("resume", asked(link))["result"] == "done: old with Bearer"
    assert step("report")["result"] == "done: old with Bearer"
