from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.mcp.conftest import modules_of
from tests.sdk.mcp.vendors.peer import NEW, OLD, Peer
from tests.support.environments import FOLDER, environment
from tests.support.op import node
from tests.support.process import Elsewhere

# Each library's client, with the revision that it is to speak.
CLIENTS = {
    "typescript-1": ("mcp_client_v1.mjs", OLD),
    "typescript-2-older": ("mcp_client_v2.mjs", OLD),
    "typescript-2": ("mcp_client_v2.mjs", NEW),
    "python-1": ("mcp_client.py", OLD),
    "fastmcp-4-older": ("fastmcp_client.py", OLD),
    "fastmcp-4": ("fastmcp_client.py", NEW),
}
PYTHONS = {"mcp_client.py": "mcp_1", "fastmcp_client.py": "fastmcp_4"}  # the fixture that says what runs it
OLDER = [name for name, (_, version) in CLIENTS.items() if version == OLD]


@pytest.fixture(scope="session")
def mcp_1() -> str:
    """Python with ``mcp`` 1.30."""
    return environment("mcp-1")


@pytest.fixture(scope="session")
def fastmcp_4() -> str:
    """Python with FastMCP 4, which stands on ``mcp`` 2."""
    return environment("fastmcp-4")


@pytest.fixture
def calling(request: pytest.FixtureRequest, tmp_path: Path, elsewhere: Elsewhere) -> Iterator[Callable[..., Peer]]:
    """``calling("typescript-1", url, tool="wipe", …)`` starts a client that makes that call."""
    peers: list[Peer] = []

    def call(client: str, *urls: str, **told: Any) -> Peer:
        script, version = CLIENTS[client]
        python = PYTHONS.get(script)
        forked_from = None
        if python:
            path = request.getfixturevalue(python)
            program, server = [path, str(FOLDER / script)], elsewhere(path, *modules_of(path))
            forked_from = lambda _: server  # noqa: E731
        else:
            program = [str(node()), script]
        log = tmp_path / f"{len(peers)}"
        peers.append(Peer(program, log, *urls, version=version, forked_from=forked_from, **told))
        return peers[-1]

    yield call
    for peer in peers:
        peer.kill9()


def _installed(request: pytest.FixtureRequest) -> str:
    """In the set-up of a test, because that may take longer than a test may."""
    node()
    if python := PYTHONS.get(CLIENTS[request.param][0]):
        request.getfixturevalue(python)
    return str(request.param)


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return _installed(request)


@pytest.fixture(params=OLDER)
def older(request: pytest.FixtureRequest) -> str:
    return _installed(request)
