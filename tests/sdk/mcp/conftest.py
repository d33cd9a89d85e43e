from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest

from elicit_flows.sdk.testing import Service
from tests.sdk.mcp import raw
from tests.support.forking import ForkServer
from tests.support.ports import free_port
from tests.support.process import PROJECT, Elsewhere, Process, until

Forking = Callable[[Mapping[str, str]], ForkServer]
# What takes long to import and asks for no setting, for the Python of each environment of tests/peers/python.
MODULES = {
    "mcp-1": ("mcp.server.fastmcp", "mcp.client.streamable_http", "uvicorn", "elicit_flows.sdk.mcp"),
    "fastmcp-4": ("fastmcp", "fastmcp.client.elicitation", "fastmcp.server", "uvicorn", "elicit_flows.sdk.mcp"),
}


def modules_of(python: str) -> tuple[str, ...]:
    return next(modules for name, modules in MODULES.items() if f"/{name}-" in python)


class Server:
    """An MCP server in a process of its own; ``command`` gets its port."""

    def __init__(self, service: Service, log: Path, command: Callable[[int], list[str]], **env: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        known = {"ELICIT_URL": service.url, "ELICIT_API_KEY": service.api_key, "SANDBOX_URL": service.sandbox_url}
        self.process = Process(command(self.port), log, cwd=PROJECT, env={**known, "PYTHONPATH": str(PROJECT), **env})

    def start(self) -> Self:
        self.process.start()
        until(self._answers, "the MCP server answers")
        return self

    def restart(self) -> None:
        self.process.stop()
        self.start()

    def _answers(self) -> bool:
        try:
            return httpx2.get(self.url, timeout=2, trust_env=False).status_code > 0
        except httpx2.TransportError:
            return False


class Tools(Server):
    """``program`` is tests/sdk/mcp/tools.py, or one that does the same; ``ran`` is what its tools did. ``at``: where it
    is to look for the service.
    """

    def __init__(
        self, service: Service, folder: Path, program: list[str], at: str = "",
        forked_from: Forking | None = None, **told: Any,
    ) -> None:  # fmt: skip
        self._ran = folder / "ran"
        super().__init__(service, folder / "log", lambda _: program)
        self.process.forked_from = forked_from
        told = {"port": self.port, "ran": str(self._ran), "user": [service.sandbox_url, "alice"], **told}
        self.process.env |= {"TOOLS": json.dumps(told), "ELICIT_URL": at or service.url}

    @property
    def ran(self) -> list[str]:
        """Since it was last looked at."""
        lines = self._ran.read_text().splitlines() if self._ran.exists() else []
        self._ran.write_text("")
        return lines


@pytest.fixture(scope="module")
def servers(elicit_box: Service) -> Iterator[list[Server]]:
    """Those that are killed in the end: to ask one and wait takes a third of a second, of which a module has thirty."""
    started: list[Server] = []
    yield started
    for server in started:
        server.process.kill9()


@pytest.fixture(scope="module")
def server(elicit_box: Service, servers: list[Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The example, for alice alone."""
    log = tmp_path_factory.mktemp("mcp") / "log"
    user = ["--user", elicit_box.sandbox_url, "alice"]
    example = Server(
        elicit_box, log, lambda port: [sys.executable, "examples/mcp_server.py", "--port", str(port), *user]
    )
    servers.append(example)
    return example.start()


@pytest.fixture(scope="session")
def python() -> str:
    """What runs the tools; another has another library."""
    return sys.executable


@pytest.fixture(scope="module")
def forked_from(python: str, elsewhere: Elsewhere) -> Forking | None:
    """Where the tools of another Python are forked, which has its library loaded."""
    if python == sys.executable:
        return None
    return lambda env: elsewhere(python, *modules_of(python))


@pytest.fixture(scope="module")
def program(python: str) -> list[str]:
    return [python, "-m", "tests.sdk.mcp.tools"]


@pytest.fixture(scope="module")
def new_tools(
    request: pytest.FixtureRequest,
    elicit_box: Service,
    servers: list[Server],
    tmp_path_factory: pytest.TempPathFactory,
    program: list[str],
    forked_from: Forking | None,
) -> Callable[..., Tools]:
    """Servers with the module's name: what another module's tests left answered at the same service is not theirs."""

    def make(**told: Any) -> Tools:
        told = {"name": request.module.__name__, **told}
        tools = Tools(elicit_box, tmp_path_factory.mktemp("mcp"), program, forked_from=forked_from, **told)
        servers.append(tools)
        return tools.start()

    return make


@pytest.fixture(params=[pytest.param(True, id="newer"), pytest.param(False, id="older", marks=pytest.mark.slow)])
def newer(request: pytest.FixtureRequest) -> bool:
    """The client's era. Other libraries' tests (vendors) have these for those that they know."""
    return bool(request.param)


@pytest.fixture(autouse=True)
def _hung_up() -> Iterator[None]:
    yield
    while raw.OPEN:
        raw.OPEN.pop().close()
