"""Clients that generators make from the description, as docs/reference/api.md says. Programs on them are type-checked,
and run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.page import found
from tests.support import op, rows
from tests.support.process import PROJECT, clean_env
from tests.support.rows import Known
from tests.support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.limit(300)]

HERE = Path(__file__).parent
STRICT = PROJECT / "tests" / "sdk" / "typescript" / "programs" / "tsconfig.json"
Ran = subprocess.CompletedProcess[str]
Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, served: Served, known: Known) -> Run:
    """Runs a command where the generators are installed."""
    found = os.pathsep.join([str(op.node().parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"ELICIT_URL": served.url, "ELICIT_API_KEY": known.who.api_key, "ISS": rows.ISSUER, "NO_PROXY": "*"}
    env |= {"PATH": found, "npm_config_offline": "true"}
    (tmp_path / "node_modules").symlink_to(op.PEERS / "node_modules")

    def run(*command: str | Path) -> Ran:
        return subprocess.run(
            [str(one) for one in command], cwd=tmp_path, env=clean_env(env), capture_output=True, text=True, check=False
        )

    return run


def generate(run: Run, generator: str) -> None:
    """With the command of the page."""
    [block] = found("reference/api.md", "generate")
    [command] = [line for line in block.text.splitlines() if generator in line]
    ran = run("/bin/sh", "-c", command)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def refused(folder: Path, mark: str) -> dict[str, set[int]]:
    """The lines that say that the types must refuse them, by the file."""
    return {
        path.stem: {number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith(mark)}
        for path in folder.glob("mistakes.*")
    }


def faults_in(said: str, form: str) -> dict[str, set[int]]:
    faults: dict[str, set[int]] = {}
    for name, line in re.findall(form, said):
        faults.setdefault(name, set()).add(int(line))
    return faults


def test_openapi_typescript(tmp_path: Path, run: Run) -> None:
    home, modules = tmp_path / "agent", op.PEERS / "node_modules"
    generate(run, "openapi-typescript")
    home.mkdir()
    (tmp_path / "api.ts").rename(home / "api.ts")
    for path in (HERE / "typescript").iterdir():
        shutil.copy(path, home)
    shutil.copy(STRICT, home)
    (home / "package.json").write_text('{"type": "module"}')
    tsc = modules / "typescript" / "bin" / "tsc"
    checked = run(op.node(), tsc, "-p", home, "--typeRoots", modules / "@types").stdout
    assert faults_in(checked, r"(\w+)\.ts\((\d+),\d+\): error") == refused(HERE / "typescript", "// refused"), checked
    ran = run(op.node(), home / "agent.js")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [
        "oauth pending", "confirm pending", "link pending", "form pending", "form pending", "steps pending", "plan=a",
        "elicitation.completed",
    ]  # fmt: skip


def test_openapi_python_client(tmp_path: Path, run: Run) -> None:
    generate(run, "openapi-python-client")
    for path in (HERE / "python").glob("*.py"):
        shutil.copy(path, tmp_path)
    # What was generated is type-checked in so far as the programs use it.
    mypy = ["-m", "mypy", "--strict", "--follow-imports", "silent", "--config-file", ""]
    checked = run(sys.executable, *mypy, "agent.py", "mistakes.py").stdout
    assert faults_in(checked, r"(?m)^(\w+)\.py:(\d+): error") == refused(HERE / "python", "# refused"), checked
    ran = run(sys.executable, "agent.py")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [
        "oauth", "oauth pending drive None", "confirm True", "invalid 422", "Atlas", "elicitation.completed True",
    ]  # fmt: skip
