"""The package, built once from the working folder; and copies of the project with a history of their own."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elicit_flows import __version__
from tests.support.process import PROJECT, clean_env

IDENTITY = {f"GIT_{who}_{what}": "tests@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DATES = {"GIT_AUTHOR_DATE": "2026-11-22T12:00:00Z", "GIT_COMMITTER_DATE": "2026-11-22T12:00:00Z"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(PROJECT)]
    with (PROJECT / "pyproject.toml").open() as held:
        # Workers of one run must not build over each other.
        fcntl.flock(held, fcntl.LOCK_EX)
        built = subprocess.run(command, env=clean_env(), capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH with what pip installs from the wheel, and none of its requirements."""
    site = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return site


def git(place: Path, *arguments: str) -> None:
    env = clean_env(IDENTITY | DATES | {"GIT_CONFIG_GLOBAL": "/dev/null"})
    subprocess.run(["git", *arguments], cwd=place, env=env, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def make_clone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Each call gives a clone of the project as it is now, committed and tagged for release; always the same commit."""

    def make() -> Path:
        place = tmp_path_factory.mktemp("clone") / "project"
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=PROJECT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for name in listed.stdout.splitlines():
            if not name.startswith(("tests/", "bench/", "docs/")) and (PROJECT / name).is_file():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes((PROJECT / name).read_bytes())
        git(place, "init", "--quiet")
        git(place, "add", "--all")
        git(place, "commit", "--quiet", "--message", "Everything")
        git(place, "tag", f"v{__version__}")
        return place

    return make
