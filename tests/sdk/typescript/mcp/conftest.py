"""Servers in TypeScript with guards from ``elicit-flows/mcp``, one program for both majors of the SDK."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk.testing import Service
from tests.sdk.mcp.conftest import Server, Tools, _hung_up, newer, servers
from tests.sdk.mcp.vendors.conftest import calling
from tests.sdk.typescript.conftest import PROGRAMS, Faults, TypeScript

__all__ = ["_hung_up", "calling", "newer", "servers"]
SERVERS = Path(__file__).parent.with_name("servers")


class Built:
    """The server of each major, compiled when it is first needed."""

    def __init__(self, typescript: TypeScript) -> None:
        self._typescript = typescript
        self.faults: dict[int, Faults] = {}

    def program(self, major: int) -> list[str]:
        folder = self._typescript.home / f"server-{major}"
        if not folder.exists():
            folder.mkdir()
            for name in ("tools.ts", "types.ts"):
                shutil.copy(SERVERS / name, folder)
            shutil.copy(SERVERS / f"v{major}.ts", folder / "library.ts")
            config = (SERVERS / "tsconfig.json").read_text().replace("../programs/", f"{PROGRAMS}/")
            (folder / "tsconfig.json").write_text(config)
            (folder / "package.json").write_text('{"type": "module"}')
            self.faults[major] = self._typescript.compile(folder)
        assert "tools" not in self.faults[major], self.faults[major]
        return [str(self._typescript.node), str(folder / "tools.js")]


@pytest.fixture(scope="session")
def built(typescript: TypeScript) -> Built:
    return Built(typescript)


@pytest.fixture(scope="module")
def new_tools(
    elicit_box: Service,
    servers: list[Server],
    tmp_path_factory: pytest.TempPathFactory,
    program: list[str],
) -> Callable[..., Tools]:
    """Servers that share no answers with those of other modules, unless they are given the same name."""
    name = uuid.uuid4().hex

    def make(**told: Any) -> Tools:
        tools = Tools(elicit_box, tmp_path_factory.mktemp("mcp"), program, **{"name": name, **told})
        servers.append(tools)
        return tools.start()

    return make
