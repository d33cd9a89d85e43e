"""The table of clients that declare something else than they do, and the page that shows it."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.sdk.mcp.known_clients import KNOWN, LOOKED_UP, Known
from elicit_flows.sdk.mcp.settings import Settings
from tests.support.process import PROJECT


@pytest.mark.parametrize(
    ("name", "version", "declares", "given", "way"),
    [
        ("claude-code", "2.1.87", True, {}, "link"),
        ("claude-code", "2.1.261", True, {}, "link"),
        ("claude-code", "2.2.0", True, {}, "url"),
        ("claude-code", "2.10.1-beta", True, {}, "url"),
        ("claude-code", "2.1.87", True, {"otherwise": "refuse"}, "refuse"),
        ("claude-code", "2.1.87", False, {"clients": {"claude-code": "url"}}, "url"),
        ("codex-mcp-client", "0.154.0", True, {}, "url"),
        ("cursor-vscode", "1.0.0", True, {}, "link"),
        ("somebody-else", "", True, {}, "url"),
        ("somebody-else", "", False, {}, "link"),
    ],
)
def test_a_client_gets_a_link_as_it_can_take_it(
    name: str, version: str, declares: bool, given: dict[str, Any], way: str
) -> None:
    assert Settings(**given).way(name, version, declares) == way


def row(one: Known) -> str:
    links = " ".join(f"[{number}]({source})" for number, source in enumerate(one.sources, start=1))
    cells = [one.title, f"`{one.name}`", one.until or "-", one.way or "as declared", f"{one.does} {links}"]
    return f"| {' | '.join(cells)} |"


def test_the_page_shows_the_table() -> None:
    page = (PROJECT / "docs/reference/mcp-clients.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("| ")][2:] == [row(one) for one in KNOWN]
    assert f"Looked up on {LOOKED_UP}." in page
