"""A11: a setting that there is not is found when the server starts, and not when it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.process import PROJECT

CALLS = """
from elicit_flows.sdk.mcp import McpFlows

flows = McpFlows(hold=30, user=("https://id.example", "alice"), clients={"desk": "link"})
McpFlows(holdd=3)
flows.having(rounds="8")
"""


def test_a_type_checker_finds_a_setting_that_there_is_not(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert re.findall(r"calls\.py:(\d+): error", ran.stdout) == ["5", "6"], ran.stdout
