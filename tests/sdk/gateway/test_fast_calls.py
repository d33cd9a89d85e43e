"""What is passed on beside the library: only calls that need nothing, and each whole."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult
from mcp_types import PARSE_ERROR

from elicit_flows.sdk.gateway import lines as gateway_lines
from elicit_flows.sdk.gateway.lines import Lines, from_client
from elicit_flows.sdk.testing import Service
from tests.sdk.gateway.conftest import DISK, Behind
from tests.sdk.gateway.raw_lines import Raw, lines, text
from tests.sdk.mcp.clients import LEGACY, MODERN, Host, every_era, talking
from tests.sdk.mcp.clients import text as text_of
from tests.sdk.mcp.conftest import Server

pytestmark = pytest.mark.anyio

WIPE = """
[[servers.disk.tools.wipe]]
ask = "confirm"
message = "Wipe {path}?"
"""
BESIDE = 1_000_000_000  # ids of what was passed on beside the library


class Answers(Host):
    """Answers what a server asks in a form. ``asked``: the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def elicit(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"colour": "red"})


@pytest.fixture(params=["program", "address"])
def guarded(request: pytest.FixtureRequest, elicit_box: Service, tmp_path: Path) -> Iterator[str]:
    """The section of a server that the gateway starts, or that runs at an address, with a guarded tool."""
    if request.param == "program":
        yield DISK + WIPE
        return
    web = lambda port: [sys.executable, "-m", "tests.sdk.gateway.behind", str(port)]  # noqa: E731
    server = Server(elicit_box, tmp_path / "web.log", web, BEHIND=str(tmp_path / "ran"))
    try:
        yield f'[servers.disk]\nurl = "{server.start().url}"\n{WIPE}'
    finally:
        server.process.stop()


async def beside(client: Raw, tool: str = "request") -> bool:
    return int(text(await client.call(tool))) >= BESIDE


@pytest.mark.parametrize(("era", "prefix"), [(MODERN, ""), (LEGACY, "disk_")])
async def test_t207_no_spelling_of_a_line_runs_a_guarded_tool(
    behind: Callable[..., Behind], guarded: str, era: str, prefix: str
) -> None:
    servers = guarded.replace("[servers.disk]", "[servers.disk]\nprefix = true") if prefix else guarded
    gateway = behind(servers, "[settings]\nhold = 0.1\n")
    async with lines(gateway.started, era) as client:
        assert await beside(client, f"{prefix}request")
        wipe, look = (
            client.line("tools/call", {"name": f"{prefix}{one}", "arguments": {}}, 900) for one in ("wipe", "look")
        )
        assert text(await client.said(look.replace("tools/call", r"tools\/call"), 900)) == "seen"
        for asked in (
            wipe,
            wipe.replace("wipe", r"\u0077\u0069pe"),
            wipe.replace("tools/call", r"tools\/call"),
            f" \t{wipe}\r",
            wipe.replace('"arguments": {}', '"arguments": {}, "requestState": null, "new": 1'),
            wipe.replace('"arguments": {}', '"arguments": {}, "task": {"ttl": 1}'),
        ):
            assert "seen" not in str(await client.said(asked, 900)), asked
            assert gateway.ran == [], asked
        for refused in (
            wipe.replace('"name": ', '"name": "look", "name": '),
            look.replace('"name": ', '"name": "wipe", "name": '),
            wipe.replace('"name": ', r'"n\u0061me": "look", "name": '),
            wipe.replace('"method": ', '"method": "ping", "method": '),
            f"{look[:-1]}, {wipe[1:]}",
            f"{look} {wipe}",
            wipe.encode().replace(b"wipe", b"wi\xffpe"),
            wipe.encode("utf-16-le"),
            wipe.replace('"arguments": {}', '"arguments": {"path": NaN}'),
            look.replace('"arguments": {}', '"arguments": {"path": 1e999}'),
            "[" * 100_000,
        ):
            answer = await client.said(refused, None)
            assert answer["error"]["code"] == PARSE_ERROR, refused
        for name in (
            "WIPE",
            "wipe ",
            " look",
            "look\\u0000",
            "ｗipe",
            "disk_wipe" if not prefix else "wipe",
            "\\ud800",
        ):
            client.write(wipe.replace(f'"{prefix}wipe"', f'"{name}"'))  # what is no text at all gets no answer
        for other in (f"[{wipe}]", f"[{look},{wipe}]", wipe.replace(f'"{prefix}wipe"', '["wipe"]'), '"wipe"', "1"):
            client.write(other)
        assert await beside(client, f"{prefix}request")
        assert gateway.ran == []
        assert all("result" not in one or one["result"].get("isError") for one in client.heard), client.heard


def test_t208_a_line_is_put_together_and_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def take(message: Any) -> bool:
        seen.append(message)
        return True

    async def run() -> None:
        made = Lines(from_client, take, seen.append)
        for piece in (b'{"a', b'": 1}', b'\n{"b": 2}\n\n \r\n{"c"', b": 3", b"}\n"):
            made.data_received(piece)
        assert seen == [{"a": 1}, {"b": 2}, {"c": 3}]
        monkeypatch.setattr(gateway_lines, "MAX_LINE", 10)
        made.data_received(b'{"d": 4444444')
        made.data_received(b"}\n")
        with pytest.raises(StopAsyncIteration):
            await anext(made)
        assert seen[-1] == "Expecting value: line 1 column 1 (char 0)", "the beginning is gone"

    asyncio.run(run())


async def until(gateway: Behind, line: str) -> None:
    async with asyncio.timeout(60):
        while line not in gateway.ran:
            await asyncio.sleep(0.05)


@pytest.mark.slow
@every_era
async def test_t208_a_call_passed_on_is_whole_and_its_clients_own(
    behind: Callable[..., Behind], guarded: str, era: str
) -> None:
    gateway = behind(guarded)
    async with lines(gateway.started, era) as client:
        calls = (client.call("use", {"what": "x", "plan": str(at)}, request=f"id {at}") for at in range(20))
        assert [one["id"] for one in await asyncio.gather(*calls)] == [f"id {at}" for at in range(20)]
        assert sorted(line.split()[-1] for line in gateway.ran) == sorted(str(at) for at in range(20))
        slow = {"name": "slow", "arguments": {"steps": 2}, "_meta": {"progressToken": "mine", "own": 1}}
        assert (await client.ask("tools/call", slow, request="7"))["id"] == "7"
        told = [one["params"] for one in client.heard if one["method"] == "notifications/progress"]
        assert [(one["progressToken"], one["progress"]) for one in told] == [("mine", 0), ("mine", 1)]
        assert gateway.ran == ["slow began", "slow ended"], "once, whoever brings its progress to the client"
        big = "ü" * 300_000
        assert text(await client.call("use", {"what": "big", "token": big})).startswith(f"with {big}")

        client.write(client.line("tools/call", {"name": "slow", "arguments": {"steps": 10_000}}, 55))
        await until(gateway, "slow began")
        client.write(client.line("notifications/cancelled", {"requestId": 55, "reason": "no more"}))
        await until(gateway, "slow cancelled")
        assert await beside(client)
        assert [one for one in client.heard if one.get("id") == 55] == []

        if "url =" in guarded:
            return  # nobody starts it again
        gone = await client.call("leave")
        assert gone["error"]["message"] == "Connection closed"
        assert text(await client.call("look")) == "seen", "its server was started again"
        assert await beside(client)


@every_era
async def test_t208_a_server_at_an_address_may_be_started_anew(
    behind: Callable[..., Behind], elicit_box: Service, tmp_path: Path, era: str
) -> None:
    """It knows no session from before (Streamable HTTP: 404), and has not run the call."""
    web = lambda port: [sys.executable, "-m", "tests.sdk.gateway.behind", str(port)]  # noqa: E731
    server = Server(elicit_box, tmp_path / "web.log", web, BEHIND=str(tmp_path / "ran"))
    try:
        gateway = behind(f'[servers.disk]\nurl = "{server.start().url}"\n{WIPE}')
        async with lines(gateway.started, era) as client:
            assert await beside(client)
            server.process.kill9()
            server.start()
            assert text(await client.call("use", {"what": "a"})).startswith("with")
            assert await beside(client)
            server.process.kill9()
            server.start()
            planned = await client.ask("prompts/get", {"name": "plan", "arguments": {"topic": "b"}})
            assert "Plan b." in str(planned["result"]), "the library's way"
            assert [line.split()[:2] for line in gateway.ran] == [["used", "a"], ["planned", "b"]]
            server.process.kill9()
            assert (await client.call("look"))["error"]["message"] == "Connection closed"
            server.start()
            assert text(await client.call("look")) == "seen"
    finally:
        server.process.stop()


@every_era
async def test_t208_a_server_that_asks_during_a_call_passed_on_is_answered(
    behind: Callable[..., Behind], guarded: str, era: str
) -> None:
    gateway, host = behind(guarded), Answers()
    async with talking(gateway.started, era, host) as client:
        assert int(text_of(await client.call_tool("request", {}))) < BESIDE, "the tools are not known before"
        assert text_of(await client.call_tool("asks", {})) == "red"
        assert host.asked == ["Which colour?"]
        assert int(text_of(await client.call_tool("request", {}))) >= BESIDE
