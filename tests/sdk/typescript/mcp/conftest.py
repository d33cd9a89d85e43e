"""Servers in TypeScript with guards from ``elicit-flows/mcp``, one program for both majors of the SDK."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.sdk.mcp.conftest import _hung_up, new_tools, newer, servers
from tests.sdk.mcp.vendors.conftest import calling
from tests.sdk.typescript.conftest import PROGRAMS, TypeScript

__all__ = ["_hung_up", "calling", "new_tools", "newer", "servers"]
SERVERS = Path(__file__).parent.with_name("servers")


class Built:
    """The server of each major, compiled when it is first needed."""

    def __init__(self, typescript: TypeScript) -> None:
        self._typescript = typescript

    def program(self, major: int) -> list[str]:
        folder = self._typescript.home / f"server-{major}"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(SERVERS / "tools.ts", folder)
            shutil.copy(SERVERS / f"v{major}.ts", folder / "library.ts")
            config = (SERVERS / "tsconfig.json").read_text().replace("../programs/", f"{PROGRAMS}/")
            (folder / "tsconfig.json").write_text(config)
            (folder / "package.json").write_text('{"type": "module"}')
            assert self._typescript.compile(folder) == {}
        return [str(self._typescript.node), str(folder / "tools.js")]


@pytest.fixture(scope="session")
def built(typescript: TypeScript) -> Built:
    return Built(typescript)
