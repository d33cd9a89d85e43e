"""MCP clients of other vendors, each in a process of its own; tests/peers/mcp_host.mjs says what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.sdk.mcp.conftest import Forking
from tests.support.op import PEERS
from tests.support.process import Process

OLD, NEW = "2025-11-25", "2026-07-28"
Line = dict[str, Any]


class Peer(Process):
    """One call of a tool, from the client's connection to its end."""

    def __init__(
        self, program: list[str], log: Path, *urls: str, tool: str, forked_from: Forking | None = None, **told: Any
    ) -> None:
        asked = {"urls": urls, "tool": tool, "arguments": {}, "links": True, "action": "accept", **told}
        super().__init__([*program, json.dumps(asked)], log, cwd=PEERS, forked_from=forked_from)
        self.start()

    @property
    def lines(self) -> list[Line]:
        return [json.loads(line) for line in self.output().splitlines() if line.startswith("{")]

    def said(self, word: str) -> list[Any]:
        return [line[word] for line in self.lines if word in line]

    def first(self, word: str) -> Any:
        """What stands behind ``word`` in the first line that has it."""
        self.wait_for_output(rf'"{word}": ?')
        return self.said(word)[0]

    def link(self) -> str:
        """The first that it is asked to open."""
        return str(self.first("link"))

    def answer(self) -> str:
        """The text that the tool answered with in the end; an error of any kind is none."""
        self.wait_for_output(r'"(isError|error)":')
        *_, last = self.lines
        assert last.get("isError") is False, last
        return str(last["text"])

    def go_on(self) -> None:
        """One that is ``held`` answers now."""
        assert self._child is not None
        assert self._child.stdin is not None
        self._child.stdin.write(b"\n")
        self._child.stdin.flush()
