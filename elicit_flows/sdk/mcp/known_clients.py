"""What clients really do with links, where that differs from what one would expect of them.

The guards use it for the versions that somebody has looked at. A newer version is believed what it declares, and
``McpFlows(clients=…)`` goes before the table. docs/reference/mcp-clients.md shows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

LOOKED_UP = date(2026, 11, 23)
NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Known:
    """``name``: what the client calls itself. ``until``: the newest version that was looked at; "" if it does not say.
    ``way``: how it is given links; None if it does what it declares. ``does``: what was seen. ``sources``: where.
    """

    name: str
    title: str
    until: str
    way: Literal["link"] | None
    does: str
    sources: tuple[str, ...]

    def covers(self, version: str) -> bool:
        return not self.until or _numbers(version) <= _numbers(self.until)


KNOWN = (
    Known(
        "claude-code",
        "Claude Code",
        "2.1.261",
        "link",
        "Declares form mode only, in both revisions. Version 2.1.87 and the extension for VS Code declared URL mode, "
        "and answered cancel or decline without showing the link.",
        (
            "https://github.com/anthropics/claude-code/issues/88075",
            "https://github.com/anthropics/claude-code/issues/69555",
            "https://github.com/anthropics/claude-code/issues/35353",
        ),
    ),
    Known(
        "codex-mcp-client",
        "Codex CLI",
        "0.154.0",
        None,
        'Declares URL mode since 0.151. With `approval_policy = "never"` it declines links without showing them: give '
        'its users `clients={"codex-mcp-client": "link"}`.',
        ("https://github.com/openai/codex/issues/45776", "https://github.com/openai/codex/issues/29344"),
    ),
    Known(
        "cursor-vscode",
        "Cursor 3.10",
        "",
        "link",
        "Declares form mode only, and does not answer what a server on stdio asks.",
        ("https://github.com/gleanwork/glean-plugins-vnext/pull/39",),
    ),
    Known(
        "Visual Studio Code",
        "Visual Studio Code",
        "",
        None,
        "Has URL mode since November 2025.",
        ("https://github.com/microsoft/vscode/pull/277253",),
    ),
)
_BY_NAME = {one.name: one for one in KNOWN}


def known_way(client: str, version: str) -> Literal["link"] | None:
    """How this client is given links; None if it is to be believed what it declares."""
    found = _BY_NAME.get(client)
    return found.way if found and found.covers(version) else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in NUMBERS.findall(version)[:3])
