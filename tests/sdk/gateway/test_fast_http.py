"""What is passed on between two ends on HTTP beside the library: only calls that need nothing, and each whole."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from elicit_flows.sdk.gateway.upstream import Upstream
from elicit_flows.sdk.testing import Service
from tests.sdk.gateway.conftest import Behind
from tests.sdk.gateway.raw_lines import ABOUT, HELLO
from tests.sdk.gateway.test_fast_calls import BESIDE, Answers
from tests.sdk.mcp.clients import LEGACY, MODERN, every_era, talking, text
from tests.sdk.mcp.conftest import Server

pytestmark = pytest.mark.anyio

FILE = """
[servers.web]
url = "<web>"

[[servers.web.tools.wipe]]
ask = "confirm"
message = "Wipe {path}?"
"""
WIPE = {"name": "wipe", "arguments": {}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def gateway(elicit_box: Service, folder: Path) -> Iterator[Server]:
    with both(elicit_box, folder) as (made, _):
        yield made


@contextmanager
def both(elicit_box: Service, folder: Path) -> Iterator[tuple[Server, Server]]:
    """The gateway, and the server behind it."""

    def guard(port: int) -> list[str]:
        top = f"[settings]\nhold = 0.1\n[listen]\nport = {port}\n"
        file = Behind(elicit_box, folder, FILE.replace("<web>", behind.url), top).file
        return [sys.executable, "-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]

    (folder / "ran").write_text("")
    web = lambda port: [sys.executable, "-m", "tests.sdk.gateway.behind", str(port)]  # noqa: E731
    behind = Server(elicit_box, folder / "web.log", web, BEHIND=str(folder / "ran"))
    made = Server(elicit_box, folder / "log", guard)
    try:
        behind.start()
        yield made.start(), behind
    finally:
        made.process.stop()
        behind.process.stop()


class Raw:
    """A client that writes its requests by hand, and has seen the tools."""

    def __init__(self, url: str, era: str, http: httpx2.AsyncClient) -> None:
        self.url, self.era, self.http = url, era, http
        self.headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        self.headers["mcp-protocol-version"] = "2026-07-28" if era == MODERN else "2025-11-25"

    def body(self, method: str, params: dict[str, Any], request: int | str | None = 7) -> str:
        if self.era == MODERN and request is not None:
            params = {**params, "_meta": {**ABOUT, **params.get("_meta", {})}}
        numbered = {"id": request} if request is not None else {}
        return json.dumps({"jsonrpc": "2.0", **numbered, "method": method, "params": params})

    async def post(self, body: str | bytes, method: str = "tools/call", name: str = "", **more: str) -> httpx2.Response:
        told = {"mcp-method": method, **({"mcp-name": name} if name else {})} if self.era == MODERN else {}
        return await self.http.post(self.url, content=body, headers={**self.headers, **told, **more})

    async def call(self, name: str, request: int | str = 7, **arguments: Any) -> httpx2.Response:
        return await self.post(self.body("tools/call", {"name": name, "arguments": arguments}, request), name=name)

    async def beside(self) -> bool:
        answer = await self.call("request")
        kind = answer.headers["content-type"]
        said = (
            answer.json()
            if kind == "application/json"
            else json.loads(answer.text.partition("data: ")[2].split("\r")[0])
        )
        return int(said["result"]["content"][0]["text"]) >= BESIDE


@asynccontextmanager
async def raw(url: str, era: str) -> AsyncIterator[Raw]:
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        client = Raw(url, era, http)
        if era == LEGACY:
            hello = await client.post(client.body("initialize", HELLO))
            client.headers["mcp-session-id"] = hello.headers["mcp-session-id"]
            await client.post(client.body("notifications/initialized", {}, None))
        await client.post(client.body("tools/list", {}), "tools/list")
        yield client


@pytest.mark.slow
@every_era
async def test_t207_no_spelling_of_a_request_runs_a_guarded_tool(gateway: Server, folder: Path, era: str) -> None:
    before = (folder / "ran").read_text()
    async with raw(gateway.url, era) as client:
        assert await client.beside()
        wipe, look = (client.body("tools/call", {"name": one, "arguments": {}}) for one in ("wipe", "look"))
        for body in (
            wipe,
            wipe.replace("wipe", r"\u0077ipe"),
            wipe.replace('"name": ', '"name": "look", "name": '),
            look.replace('"name": ', '"name": "wipe", "name": '),
            wipe.replace('"method": ', '"method": "ping", "method": '),
            wipe.replace('"arguments": {}', '"arguments": {}, "requestState": null'),
            wipe.replace("wipe", "WIPE"),
            f"[{look},{wipe}]",
            f"{look}{wipe}",
            wipe.encode("utf-16-le"),
        ):
            for name in ("wipe", "look"):
                assert "done: " not in (await client.post(body, name=name)).text, body
        if era == MODERN:
            other = await client.post(look, name="wipe")
            assert other.status_code == httpx2.codes.BAD_REQUEST, "the header names another tool"
        for wrong in ({"host": "evil.test"}, {"origin": "https://evil.test"}, {"content-type": "text/plain"}):
            assert (await client.post(look, name="look", **wrong)).status_code >= httpx2.codes.BAD_REQUEST, wrong
        assert await client.beside()
    assert (folder / "ran").read_text() == before


async def test_spaces_around_a_headers_value_do_not_belong_to_it(gateway: Server) -> None:
    """RFC 9110, 5.5. The name of the tool is compared with that in the body."""
    url = httpx2.URL(gateway.url)
    async with raw(gateway.url, MODERN) as client:
        body = client.body("tools/call", {"name": "look", "arguments": {}}).encode()
        told = {**client.headers, "mcp-method": "tools/call \t", "mcp-name": "  look  ", "connection": "close"}
        lines = [f"POST {url.path} HTTP/1.1", f"host: {url.host}:{url.port}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in told.items()]
        reading, writing = await asyncio.open_connection(url.host, url.port)
        writing.write("\r\n".join([*lines, "", ""]).encode() + body)
        answer = await reading.read()
        writing.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer


@every_era
async def test_t208_a_call_passed_on_over_http_is_whole_and_its_clients_own(
    gateway: Server, folder: Path, era: str
) -> None:
    async with raw(gateway.url, era) as client:
        answers = await asyncio.gather(*(client.call("use", f"id {at}", what="x", token=str(at)) for at in range(20)))
        assert [one.json()["id"] for one in answers] == [f"id {at}" for at in range(20)]
        assert all(f"with {at} as" in one.text for at, one in enumerate(answers))
        big = "ü" * 300_000
        assert f"with {big}" in (await client.call("use", what="big", token=big)).json()["result"]["content"][0]["text"]

        calling = asyncio.ensure_future(client.call("slow", 55, steps=10_000))
        await until(folder, "slow began")
        if era == LEGACY:
            gone = client.body("notifications/cancelled", {"requestId": 55}, None)
            assert (await client.post(gone)).status_code == httpx2.codes.ACCEPTED
            assert "result" not in (await calling).text
        else:
            calling.cancel()
        await until(folder, "slow cancelled")
        assert await client.beside()


@every_era
async def test_t208_a_server_that_asks_during_a_call_over_http_is_answered(gateway: Server, era: str) -> None:
    host, steps = Answers(), []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with talking(gateway.url, era, host) as client:
        assert int(text(await client.call_tool("request", {}))) < BESIDE, "the tools are not known before"
        assert text(await client.call_tool("asks", {})) == "red"
        assert host.asked == ["Which colour?"]
        await client.call_tool("slow", {"steps": 2}, progress_callback=progress)
        assert steps == [0, 1]
        assert int(text(await client.call_tool("request", {}))) >= BESIDE


@every_era
async def test_t208_a_call_that_asks_for_progress_is_passed_on_and_told_under_its_own_token(
    gateway: Server, era: str
) -> None:
    def calling(name: str, token: object, **arguments: Any) -> str:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": token}}
        return client.body("tools/call", params, 9)

    async with raw(gateway.url, era) as client:
        silent = await client.post(calling("request", "mine"), name="request")
        assert int(silent.json()["result"]["content"][0]["text"]) >= BESIDE
        wrong = await client.post(calling("request", True), name="request")
        assert "1000" not in wrong.text, "the library says what is wrong with it, or leaves it out"
        slow = await client.post(calling("slow", "mine", steps=2), name="slow")
        heard = [json.loads(line[6:]) for line in slow.text.splitlines() if line.startswith("data: {")]
        assert [one["params"]["progressToken"] for one in heard if "method" in one] == ["mine", "mine"]
        assert [one["params"]["message"] for one in heard if "method" in one] == ["step 0", "step 1"]
        assert heard[-1]["id"] == 9
        assert "slow ended" in json.dumps(heard[-1]["result"])
        assert await client.beside()


async def test_t208_progress_that_comes_on_another_stream_is_told(gateway: Server) -> None:
    steps: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async with talking(gateway.url, LEGACY) as client:
        await client.list_tools()
        for _ in range(2):
            assert text(await client.call_tool("aside", {}, progress_callback=progress)) == "done aside"
    assert steps == [1, 1]


async def test_t208_a_server_behind_may_be_started_anew(elicit_box: Service, tmp_path: Path) -> None:
    with both(elicit_box, tmp_path) as (made, behind):
        async with raw(made.url, LEGACY) as client:
            assert await client.beside()
            behind.process.kill9()
            behind.start()
            answers = await asyncio.gather(*(client.call("use", f"id {at}", what=str(at)) for at in range(30)))
            assert [one.text for one in answers if "with" not in one.text] == []
            assert await client.beside()
    ran = [line.split()[1] for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted(ran, key=int) == [str(at) for at in range(30)], "each once"


async def test_t208_a_late_answer_about_the_former_session_does_not_end_the_new_one() -> None:
    nothing: Any = None
    upstream = Upstream("web", nothing, nothing, nothing, nothing, nothing, session="new")
    for session, lost in (("old", False), ("new", True)):
        request = httpx2.Request("POST", "http://web.test", headers={"mcp-session-id": session})
        await upstream._note_answer(httpx2.Response(404, request=request))
        assert upstream.lost is lost, session


async def test_t209_a_session_that_was_ended_is_not_served(gateway: Server) -> None:
    async with raw(gateway.url, LEGACY) as client:
        assert await client.beside()
        assert (await client.http.delete(gateway.url, headers=client.headers)).status_code == httpx2.codes.OK
        assert (await client.call("look")).status_code == httpx2.codes.NOT_FOUND


async def test_t209_no_other_client_gives_up_a_call_by_its_number(gateway: Server, folder: Path) -> None:
    async with raw(gateway.url, MODERN) as client, raw(gateway.url, MODERN) as other:
        assert await client.beside()
        calling = asyncio.ensure_future(client.call("slow", 56, steps=20))
        await until(folder, "slow began")
        gone = other.body("notifications/cancelled", {"requestId": 56}, None)
        assert (await other.post(gone, "notifications/cancelled")).status_code == httpx2.codes.ACCEPTED
        assert "slow ended" in (await calling).text


async def until(folder: Path, line: str) -> None:
    async with asyncio.timeout(60):
        while not (folder / "ran").read_text().rstrip().endswith(line):
            await asyncio.sleep(0.05)
