"""What an author may say to ``McpFlows``, and what is refused where they say it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from elicit_flows.sdk.mcp import McpFlows, Settings
from elicit_flows.sdk.mcp.settings import Given
from tests.support.process import PROJECT

CALLS = """
from elicit_flows.sdk.mcp import McpFlows

flows = McpFlows(hold=30, server="files", user=("https://id.example", "alice"), clients={"desk": "link"})
flows.having(ask_again_after=0.0, otherwise="refuse")
McpFlows(holdd=3)  # wrong
McpFlows(otherwise="ask")  # wrong
flows.having(rounds="8")  # wrong
"""


def test_keywords_and_settings_are_the_same() -> None:
    assert get_type_hints(Given).keys() == {one.name for one in fields(Settings)}


@pytest.mark.slow
def test_a_type_checker_finds_a_setting_that_there_is_not(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    wrong = [number for number, line in enumerate(CALLS.splitlines(), start=1) if line.endswith("# wrong")]
    assert {int(line) for line in re.findall(r"calls\.py:(\d+): error", ran.stdout)} == set(wrong), ran.stdout


def test_so_does_python() -> None:
    told: dict[str, Any] = {"holdd": 3}
    with pytest.raises(TypeError, match="holdd"):
        McpFlows(**told)
    with pytest.raises(TypeError, match="holdd"):
        McpFlows().having(**told)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("hold", -1, "hold: Give a number of 0 or more, not -1"),
        ("hold", "45", "hold: Give a number of 0 or more, not '45'"),
        ("hold", float("nan"), "hold: Give a number"),
        ("rounds", 0, "rounds: Give a number of 1 or more"),
        ("rounds", True, "rounds: Give a number of 1 or more"),
        ("progress_every", 0, "progress_every: Give a number of 0.1 or more"),
        ("ask_again_after", None, "ask_again_after: Give a number"),
        ("otherwise", "url", "otherwise: Give one of link, refuse"),
        ("clients", {"desk": "ask"}, "clients: Give one of url, link, refuse"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(name: str, value: object, said: str) -> None:
    told: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=said):
        McpFlows(**told)
