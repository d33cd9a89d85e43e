"""Python environments for libraries that cannot stand beside those of the tests: ``mcp`` 1, and FastMCP."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from tests.support.left_out import left_out
from tests.support.op import PEERS

FOLDER = PEERS / "python"


def environment(name: str) -> str:
    """The interpreter that has what tests/peers/python/``name``.txt names; leaves the test out where that fails."""
    requirements = FOLDER / f"{name}.txt"
    home = FOLDER / ".venv" / name
    wanted = f"{sys.version}\n{requirements.read_text()}"
    with requirements.open() as held:
        # Workers of one run must not install over each other.
        fcntl.flock(held, fcntl.LOCK_EX)
        installed = home / ".installed"
        if not installed.exists() or installed.read_text() != wanted:
            _install(home, requirements)
            installed.write_text(wanted)
    return str(home / "bin" / "python")


def _install(home: Path, requirements: Path) -> None:
    made = [sys.executable, "-m", "venv", "--clear", "--without-pip", home]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", home / "bin" / "python"]
    options = ["--quiet", "--no-compile", "--require-hashes", "--no-deps"]
    installed = [*pip, "install", *options, "--requirement", requirements]
    for command in (made, installed):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            left_out(f"{requirements.stem}: {' '.join(map(str, command))} failed: {ran.stderr.strip()[-300:]}")
