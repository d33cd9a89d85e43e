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
    """By uv, which needs a tenth of the time; by pip, which knows how this machine reaches its index, if uv cannot."""
    made = subprocess.run([python, "-m", "venv", "--clear", "--without-pip", home], check=False)
    there = home / "bin" / "python"
    by_uv: list[str | Path] = [Path(sys.executable).with_name("uv"), "pip", "install", "--python", there]
    by_pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        there,
        "install",
        "--no-compile",
    ]
    said = []
    for command in (by_uv, by_pip):
        options: list[str | Path] = ["--quiet", "--require-hashes", "--no-deps", "--requirement", requirements]
        ran = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if made.returncode == 0 and ran.returncode == 0:
            return
        said.append(f"{Path(command[0]).name}: {ran.stderr.strip()[-300:]}")
    left_out(f"{requirements.stem} cannot be installed: {'; '.join(said)}")
