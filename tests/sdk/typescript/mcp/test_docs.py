"""The programs of docs/how-to/mcp-server-typescript.md: type-checked, and run with clients and a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.docs.page import found
from tests.sdk.mcp.clients import ERAS, MODERN, Host, talking, text
from tests.sdk.mcp.conftest import Server
from tests.sdk.typescript.conftest import PROGRAMS, RUNTIMES, TypeScript, disconnect, runner
from tests.sdk.typescript.mcp.conftest import SERVERS
from tests.support.process import clean_env

pytestmark = [pytest.mark.slow, pytest.mark.limit(120), pytest.mark.anyio]

PAGE = "how-to/mcp-server-typescript.md"
BLOCKS = {block.argument: block.text for block in found(PAGE, "mcp")}


@pytest.fixture(scope="module")
def compiled(typescript: TypeScript) -> Path:
    """Every program of the page, which the type checker has nothing to say against."""
    folder = typescript.home / "guards"
    folder.mkdir()
    for name, program in BLOCKS.items():
        (folder / name).write_text(program)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(
        (SERVERS / "tsconfig.json").read_text().replace("../programs/", f"{PROGRAMS}/")
    )
    assert typescript.compile(folder) == {}
    return folder


@pytest.fixture
def program(compiled: Path, elicit_service: Service) -> Callable[..., Path]:
    """A program of the page, with what it needs to know of this machine."""

    def program(name: str, port: int = 0) -> Path:
        text = (compiled / f"{name}.js").read_text()
        here = compiled / f"{name}_{port}.js"
        here.write_text(text.replace("http://127.0.0.1:8001", elicit_service.sandbox_url).replace("3000", str(port)))
        return here

    return program


@pytest.fixture
def serve(
    typescript: TypeScript, program: Callable[..., Path], elicit_service: Service, tmp_path: Path
) -> Iterator[Callable[..., str]]:
    """Starts a program by its name, with another runner than Node if one is given, and gives its address."""
    started: list[Server] = []

    def serve(name: str, *given: str) -> str:
        command = given or [str(typescript.node)]
        env = {"DENO_DIR": str(tmp_path / "deno")}
        server = Server(elicit_service, tmp_path / name, lambda port: [*command, str(program(name, port))], **env)
        started.append(server)
        return server.start().url

    yield serve
    for server in started:
        server.process.stop()


async def test_the_server_on_the_users_own_machine(
    typescript: TypeScript,
    program: Callable[..., Path],
    elicit_service: Service,
    alice: ScriptedUser,
) -> None:
    disconnect(elicit_service, alice)
    env = clean_env({"ELICIT_URL": elicit_service.url, "ELICIT_API_KEY": elicit_service.api_key})
    server = StdioServerParameters(command=str(typescript.node), args=[str(program("files"))], env=env)
    async with talking(server, "legacy", Host(alice.allow)) as client:
        assert text(await client.call_tool("list_files", {})) == "done: Bearer"


@pytest.mark.parametrize("runtime", ["node", *RUNTIMES])
async def test_the_server_for_clients_of_both_revisions(
    serve: Callable[..., str], alice: ScriptedUser, runtime: str
) -> None:
    url = serve("team", *(runner(runtime) if runtime in RUNTIMES else []))
    async with talking(url, MODERN, Host(lambda url: alice.submit(url, typed="CONFIRM"))) as client:
        assert text(await client.call_tool("remove", {"member": "Bob"})) == "done: Bob is removed"
    async with talking(url, ERAS[1]) as client:
        said = text(await client.call_tool("remove", {"member": "Carol"}))
        assert said.startswith("waiting:")
        alice.submit(next(word for word in said.split() if word.startswith("http")), typed="CONFIRM")
        assert text(await client.call_tool("remove", {"member": "Carol"})) == "done: Carol is removed"


async def test_several_guards_and_guards_by_argument(serve: Callable[..., str], alice: ScriptedUser) -> None:
    answers = [{}, {"plan": "pro"}]
    async with talking(serve("orders"), MODERN, Host(lambda url: alice.submit(url, **answers.pop()))) as client:
        assert text(await client.call_tool("order", {"seats": 3})) == "done: 3 × pro, completed"
        assert text(await client.call_tool("delete", {"files": 3})) == "done: 3 deleted without a question"
        answers.append({})
        assert text(await client.call_tool("delete", {"files": 11})) == "done: 11 deleted after a yes"


def test_every_program_of_the_page_is_run_by_one_of_these() -> None:
    assert set(BLOCKS) == {"files.ts", "team.ts", "orders.ts"}
