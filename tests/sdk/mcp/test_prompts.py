"""Guarded prompts and resources: asked like tools, and refused with an error, since they have no words of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.clients import LEGACY, MODERN, Host, talking
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import URL, Json, Legacy, Modern
from tests.sdk.mcp.test_cases import _nothing_ran_before, link, link_in  # noqa: F401

PROMPT, RESOURCE = "prompts/get", "resources/read"
BOTH = pytest.mark.parametrize("method", [PROMPT, RESOURCE])
MARK = "elicit-flows/outcome"


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone; a call waits a second for her."""
    return new_tools(settings={"hold": 1, "rounds": 4, "ask_again_after": 0})


def params(method: str, name: str) -> tuple[Json, str]:
    if method == PROMPT:
        return {"name": "shown", "arguments": {"name": name}}, "shown"
    return {"uri": f"files://{name}"}, f"files://{name}"


def asked(tools: Tools, newer: bool, method: str, name: str, can: Json = URL, **more: Json) -> Json:
    given, about = params(method, name)
    if newer:
        return Modern(tools.url).request(method, {**given, **more}, about, can=can)
    return Legacy(tools.url, can).request(method, given)


@pytest.mark.anyio
@BOTH
async def test_it_is_asked_and_then_given_once(tools: Tools, alice: ScriptedUser, newer: bool, method: str) -> None:
    async with talking(tools.url, MODERN if newer else LEGACY, Host(alice.submit)) as client:
        if method == PROMPT:
            got = (await client.get_prompt("shown", {"name": f"p{newer}"})).messages[0].content.text
        else:
            got = (await client.read_resource(f"files://p{newer}")).contents[0].text
    assert got == f"done: shown p{newer}"
    assert tools.ran == [f"shown p{newer}"]


@BOTH
def test_a_client_that_opens_no_links_gets_it_in_the_error(
    tools: Tools, alice: ScriptedUser, newer: bool, method: str
) -> None:
    error = asked(tools, newer, method, f"words{newer}", {})["error"]
    assert "waiting: " in error["message"]
    alice.submit(link_in(error["message"]))
    assert f"done: shown words{newer}" in str(asked(tools, newer, method, f"words{newer}", {})["result"])


@BOTH
def test_a_no_is_an_error_with_its_mark(tools: Tools, alice: ScriptedUser, method: str) -> None:
    first = asked(tools, True, method, "no")
    alice.decline(link(first))
    state = {"requestState": first["result"]["requestState"]}
    error = asked(tools, True, method, "no", **state)["error"]
    assert error["message"].startswith("declined: ")
    assert error["data"][MARK]["outcome"] == "declined"
    assert tools.ran == []


def test_t178_a_yes_to_a_prompt_is_none_to_a_resource_or_tool_of_the_same_function(
    tools: Tools, alice: ScriptedUser
) -> None:
    first = asked(tools, True, PROMPT, "same")
    alice.submit(link(first))
    modern = Modern(tools.url)
    for other in (asked(tools, True, RESOURCE, "same"), modern.call("shown", {"name": "same"})):
        assert link(other) != link(first)
    state = {"requestState": first["result"]["requestState"]}
    assert asked(tools, True, RESOURCE, "same", **state)["error"]["code"] == -32602
    assert modern.call("shown", {"name": "same"}, **state)["error"]["code"] == -32602
    assert tools.ran == []
