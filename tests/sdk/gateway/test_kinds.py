"""What else the file can guard than tools, and with what else than a yes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from mcp.shared.exceptions import MCPError

from elicit_flows.sdk.cli import main
from elicit_flows.sdk.gateway.names import covers, fits, plain
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.gateway.conftest import DISK, Behind
from tests.sdk.gateway.raw_lines import lines
from tests.sdk.mcp.clients import LEGACY, Host, every_era, talking, text
from tests.sdk.mcp.test_listing import revoke

pytestmark = pytest.mark.anyio

ALL = (
    DISK.replace("[servers.disk]", '[servers.disk]\nhidden_until = { acme = ["environment"] }')
    + """
[[servers.disk.tools.wipe]]
ask = "payment"
amount = 500
currency = "eur"
description = "Wiping {path}"

[[servers.disk.tools.use]]
ask = "steps"
message = "Before it is used"
[[servers.disk.tools.use.steps]]
kind = "confirm"
message = "Use it?"
params = {}
[[servers.disk.tools.use.steps]]
kind = "form"
message = "Why?"
params = { schema = { type = "object", properties = { why = { type = "string" } } } }

[[servers.disk.prompts.plan]]
ask = "credentials"
message = "The planner needs its key."
fields = [{ name = "key", label = "Key" }]
argument = { key = "key" }

[[servers.disk.resources."notes://desk/secret.txt"]]
ask = "confirm"
message = "Show {uri}?"
"""
)
SECRET = "notes://desk/secret.txt"


@every_era
async def test_prompts_and_resources_are_given_once_their_user_said_yes(
    behind: Callable[..., Behind], alice: ScriptedUser, era: str
) -> None:
    gateway = behind(ALL, "[settings]\nask_again_after = 0\n")
    host = Host(lambda url: alice.submit(url, key="the-key-of-alice"))
    async with talking(gateway.started, era, host) as client:
        [plan] = [one for one in (await client.list_prompts()).prompts if one.name == "plan"]
        assert [one.name for one in plan.arguments] == ["topic"], "the key is put in"
        assert (await client.get_prompt("greet")).messages[0].content.text == "Greet."
        assert (await client.read_resource("notes://desk/open.txt")).contents[0].text == "open"
        assert host.links == []
        planned = await client.get_prompt("plan", {"topic": era, "key": "forged"})
        assert planned.messages[0].content.text == f"Plan {era}."
        assert gateway.ran == [f"planned {era} the-key-of-alice"]
        host.then = alice.submit
        assert (await client.read_resource(SECRET)).contents[0].text == "done: read the secret"
        assert len(host.links) == 2
        host.then = alice.decline
        with pytest.raises(MCPError, match="declined: "):
            await client.read_resource(SECRET)
        assert gateway.ran == ["read the secret"]


async def test_t207_no_spelling_of_an_address_reads_a_guarded_resource(behind: Callable[..., Behind]) -> None:
    servers = (
        ALL + '[[servers.disk.resources."notes://desk/files/s{rest}"]]\nask = "confirm"\nmessage = "Show {uri}?"\n'
    )
    gateway = behind(servers, "[settings]\nhold = 0.1\n")
    async with lines(gateway.started, LEGACY) as client:
        read = lambda uri: client.ask("resources/read", {"uri": uri})  # noqa: E731
        assert "open" in str(await read("notes://desk/open.txt"))
        assert "read a.txt" in str(await read("notes://desk/files/a.txt"))
        for other in (SECRET, SECRET.upper(), f"{SECRET}?a=b", f"{SECRET}#x", SECRET.replace("e", "%65"), f"{SECRET}/"):
            assert "waiting: " in str(await read(other)), other
        for other in ("s.txt", "%73.txt", "%2573.txt", "S.txt", "./s.txt", "x/../s.txt", "s%0A.txt", "ｓ.txt"):
            assert "waiting: " in str(await read(f"notes://desk/files/{other}")), other
        for unlisted in ("notes://desk/other", f" {SECRET[:-1]}", "file:///etc/passwd", "environment"):
            assert "The server 'disk' lists no resource" in str(await read(unlisted)), unlisted
        assert "result" not in await client.ask("resources/read", {"uri": [SECRET]})
        assert gateway.ran == ["read a.txt"]


async def test_t207_an_empty_name_in_a_guarded_template_is_guarded(behind: Callable[..., Behind]) -> None:
    """The server reads it as any other, and as well a name that leads out of what the template begins with."""
    guard = '[[servers.disk.resources."notes://desk/files/{name}"]]\nask = "confirm"\nmessage = "Show {uri}?"\n'
    gateway = behind(DISK + guard, "[settings]\nhold = 0.1\n")
    async with lines(gateway.started, LEGACY) as client:
        for name in ("", "..%2Fopen.txt", "?", "%3Fx", "#"):
            told = await client.ask("resources/read", {"uri": f"notes://desk/files/{name}"})
            assert "waiting: " in str(told), name
        assert gateway.ran == []


def test_t207_addresses_of_one_resource_are_the_same() -> None:
    assert plain("FILE://localhost/a/%2e%2E/b%2563/?q#f") == plain("file:///bc") == plain("file:///bc{?q,r}")
    assert plain("http://a/../b") != plain("http://b")
    assert fits(plain("file:///{+path}"), plain("file:///a%0A/b"))
    assert not fits(plain("file:///a"), plain("file:///ab"))
    for template, uri in (
        ("file:///{+path}", "file:///"),
        ("file://localhost{/path*}", "file://localhost/etc"),
        ("notes://a/{x}/b{?q}", "notes://a//b?q=1"),
        ("notes://a/{+x}/b", "notes://a/?/b"),
        ("notes://a/{x}", "NOTES://a/..%2Fb"),
    ):
        assert covers(template, uri), template
    for template, uri in (
        ("notes://a/{x}/b", "notes://a/c"),
        ("notes://a", "notes://b"),
        ("notes://a/{x}", "notes://ab"),
    ):
        assert not covers(template, uri), template


@pytest.mark.parametrize(
    "part", ["%" + "25" * 60_000, "{?" * 100_000, "/sha/" * 1_500], ids=["escaped", "braces", "holes"]
)
def test_t207_no_spelling_of_an_address_takes_long_to_compare(part: str) -> None:
    uri, before = f"notes://desk/{part}", time.process_time()
    assert not covers("notes://desk/secret.txt", uri)
    assert not covers("notes://{owner}/{notes}/{+tree}/with/{sha}/files/{name}", uri)
    assert not fits("notes://{owner}/{notes}/sha/{sha}/files/{name}", uri)
    assert time.process_time() - before < 1


@pytest.mark.slow
async def test_payments_and_steps_are_asked_for(behind: Callable[..., Behind], alice: ScriptedUser) -> None:
    gateway, host = behind(ALL), Host(alice.pay)
    async with talking(gateway.started, LEGACY, host) as client:
        assert text(await client.call_tool("wipe", {"path": "x"})) == "done: wiped x"

        def both(url: str) -> None:
            alice.submit(url)
            alice.submit(url, why="because")

        host.then = both
        assert text(await client.call_tool("use", {"what": "it"})).startswith("with ")
        assert gateway.ran == ["wiped x", "used it  "]


@every_era
async def test_tools_are_hidden_changes_are_told_and_tasks_are_refused_with_a_reason(
    behind: Callable[..., Behind], elicit_box: Service, alice: ScriptedUser, era: str
) -> None:
    with elicit_box.sync_elicit() as elicit:
        revoke(elicit, alice)  # what a test of another file has connected
    gateway = behind(ALL)
    async with lines(gateway.started, era) as client:
        listed = (await client.ask("tools/list"))["result"]["tools"]
        assert "environment" not in [one["name"] for one in listed]
        refused = (await client.ask("tasks/get", {"taskId": "1"}))["error"]
        assert "The gateway passes on no tasks" in str(refused)


@pytest.mark.slow
def test_t181_a_guard_of_a_resource_that_is_not_there_is_refused_at_the_start(
    behind: Callable[..., Behind], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELICIT_API_KEY", "key-of-the-tests")
    file = str(behind(ALL.replace("notes://desk/secret.txt", "notes://desk/secrets.txt")).file)
    assert main(["guard", "--check", "--config", file]) == 1
    assert "resources.notes://desk/secrets.txt: The server lists no such resource" in capsys.readouterr().err
