from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from elicit_flows.sdk.testing import Service
from tests.support import on_stdio
from tests.support.process import PROJECT, fork_server

# One server on stdio. Tools that are guarded come after it.
DISK = """
[servers.disk]
command = "<python>"
args = <behind>
cwd = "<project>"
env = { BEHIND = "<ran>", PYTHONPATH = "<project>" }
"""


def filled(servers: str, ran: Path) -> str:
    """``DISK`` and what follows, with the places of this machine; ``ran`` is where the server says what it did."""
    behind = json.dumps(on_stdio.arguments(fork_server(), ["-m", "tests.sdk.gateway.behind"]))
    servers = servers.replace("<python>", sys.executable).replace("<behind>", behind)
    return servers.replace("<ran>", str(ran)).replace("<project>", str(PROJECT))


class Behind:
    """A gateway's file, and how a client starts the gateway. ``servers``: the end of the file."""

    def __init__(self, service: Service, folder: Path, servers: str, top: str = "") -> None:
        self._seen = 0
        self._service, self._ran, self.file = service, folder / "ran", folder / "guard.toml"
        self.file.write_text(
            f"""
name = "gateway of the tests"
{top}
[service]
url = "{service.url}"
[user]
iss = "{service.sandbox_url}"
sub = "alice"
{filled(servers, self._ran)}
"""
        )

    @property
    def started(self) -> StdioServerParameters:
        env = {"ELICIT_API_KEY": self._service.api_key, "PYTHONPATH": str(PROJECT)}
        guard = ["-m", "elicit_flows.sdk.cli", "guard", "--config", str(self.file)]
        return StdioServerParameters(command=sys.executable, args=on_stdio.arguments(fork_server(), guard), env=env)

    @property
    def ran(self) -> list[str]:
        """Since it was last looked at. The file is left alone, because the server may be writing to it."""
        text = self._ran.read_text() if self._ran.exists() else ""
        new = text[self._seen : text.rfind("\n") + 1]
        self._seen += len(new)
        return new.splitlines()


@pytest.fixture
def behind(elicit_box: Service, tmp_path: Path) -> Callable[..., Behind]:
    return lambda servers, top="": Behind(elicit_box, tmp_path, servers, top)
