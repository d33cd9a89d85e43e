"""Python environments beside that of the tests: for other versions of a library, or for another Python."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from tests.support.left_out import left_out
from tests.support.op import PEERS

FOLDER = PEERS / "python"


def environment(name: str, python: str = sys.executable) -> str:
    """An interpreter like ``python`` that has what tests/peers/python/``name``.txt names, and is kept for the next run.

    The test is left out where that cannot be installed.
    """
    requirements = FOLDER / f"{name}.txt"
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version)"], capture_output=True, text=True, check=True
    )
    home = FOLDER / ".venv" / f"{name}-{'.'.join(version.stdout.split('.')[:2])}"
    wanted = f"{version.stdout}{requirements.read_text()}"
    with requirements.open() as held:
        # Workers of one run must not install over each other.
        fcntl.flock(held, fcntl.LOCK_EX)
        installed = home / ".installed"
        if not installed.exists() or installed.read_text() != wanted:
            _install(python, home, requirements)
            installed.write_text(wanted)
    return str(home / "bin" / "python")


def _install(python: str, home: Path, requirements: Path) -> None:
    made = [python, "-m", "venv", "--clear", "--without-pip", home]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", home / "bin" / "python"]
    options = ["--quiet", "--no-compile", "--require-hashes", "--no-deps"]
    installed = [*pip, "install", *options, "--requirement", requirements]
    for command in (made, installed):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            left_out(f"{requirements.stem}: {' '.join(map(str, command))} failed: {ran.stderr.strip()[-300:]}")
