"""The SDK as it is installed from the wheel, under every Python that it says it runs on.

``make test-pythons`` (EVERY_PYTHON=1) takes every Python on this machine, on PATH, of pyenv or of uv: all tests on the
oldest and the newest, a few on those between. Otherwise a few run on the Python of the tests; tests/sdk and tests/wires
run all of them there.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.process import PROJECT, clean_env

VERSIONS = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (PROJECT / "pyproject.toml").read_text())
OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"
EVERY = os.environ.get("EVERY_PYTHON") == "1"
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
UV = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python")
# Tests that need neither the service nor Django, and below what they import.
SDK = ("asking", "calls", "checks", "ending", "errors", "feed", "once", "sync", "webhooks")
FEW = ("calls", "checks")
WIRES = ("acp", "ahp", "mcp", "older", "privacy", "tesseron", "validator")
NEEDED = [
    "__init__.py", "sdk/__init__.py", "sdk/conftest.py", "sdk/fake.py", "sdk/forked.py", "sdk/hooks.py",
    "support/__init__.py", "support/process.py", "support/forking.py", "support/fork_server.py", "support/machine.py",
    "support/guardian.py", "support/examples.py", "support/ports.py", "support/sweeps.py", "wires/conftest.py",
    "wires/__init__.py", "wires/answers.py", "wires/bodies.py", "wires/validator.py", "wires/schemas",
    "kinds/__init__.py", "kinds/form/__init__.py", "kinds/form/asked.py", "kinds/form/strategies.py",
]  # fmt: skip
# What another Python does otherwise shows in the first examples of Hypothesis too.
QUICK = """
from hypothesis import settings

from tests.support import examples

settings.load_profile("quick")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: all of them run here")
"""
# It holds the SDK's answers against the service's own reading of forms.
NEEDS_THE_SERVICE = "tests/wires/test_acp.py::test_whole_numbers_are_whole"


def interpreter(version: str) -> str | None:
    """A Python of that version that runs, if there is one on this machine."""
    if version == OURS:
        return sys.executable
    kept = [*PYENV.glob(f"{version}.*/bin/python"), *UV.glob(f"cpython-{version}.*/bin/python")]
    on_path = shutil.which(f"python{version}")
    for python in [*([on_path] if on_path else []), *map(str, sorted(kept))]:
        # A shim of pyenv's may stand for a version that is not switched on.
        said = subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout
        if said.startswith(f"Python {version}."):
            return python
    return None


@pytest.mark.slow
@pytest.mark.limit(900)
@pytest.mark.parametrize("version", VERSIONS if EVERY else [OURS])
def test_the_sdks_tests_pass_on_python(version: str, installed: Path, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version}: not on this machine (uv python install {version}, or pyenv install {version})")
    # What runs on the oldest and on the newest runs on those between them; a few tests look.
    newest = next(one for one in reversed(VERSIONS) if interpreter(one))
    whole = EVERY and version in (VERSIONS[0], newest)
    suite = [f"sdk/test_{name}.py" for name in SDK if whole or name in FEW]
    suite += [f"wires/test_{name}.py" for name in WIRES if whole]
    for name in [*NEEDED, *suite]:
        source, target = PROJECT / "tests" / name, tmp_path / "tests" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    (tmp_path / "tests" / "conftest.py").write_text(QUICK)
    options = ["-q", "-p", "no:cacheprovider", "-W", "error", "--strict-markers", "--deselect", NEEDS_THE_SERVICE]
    ran = subprocess.run(
        [environment("sdk-tests", python), "-m", "pytest", *options, "tests"],
        cwd=tmp_path, env=clean_env({"PYTHONPATH": f"{installed}:{tmp_path}"}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed, ran.stdout[-1000:]
    assert int(passed[1]) > (700 if whole else 50)


def imported(name: str) -> Iterator[str]:
    """The files of the tests that this file of theirs imports at the top."""
    if not name.endswith(".py"):
        return
    for node in ast.parse((PROJECT / "tests" / name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tests":
            within = "/".join(node.module.split(".")[1:])
            for each in node.names:
                as_module = f"{within}/{each.name}.py" if within else f"{each.name}.py"
                package = f"{within}/__init__.py" if (PROJECT / "tests" / within).is_dir() else f"{within}.py"
                yield as_module if (PROJECT / "tests" / as_module).exists() else package


def test_what_make_test_pythons_runs_is_there() -> None:
    listed = [*NEEDED, *(f"sdk/test_{name}.py" for name in SDK), *(f"wires/test_{name}.py" for name in WIRES)]
    assert [name for name in listed if not (PROJECT / "tests" / name).exists()] == []
    missing = {(name, other) for name in listed for other in imported(name) if other not in listed}
    assert not missing, "add to NEEDED what these import"
    file, _, name = NEEDS_THE_SERVICE.partition("::")
    assert f"def {name}(" in (PROJECT / file).read_text(encoding="utf-8")


def test_the_stated_versions_are_those_that_pip_lets_in() -> None:
    assert "3.11" in VERSIONS
    assert 'requires-python = ">=3.11"' in (PROJECT / "pyproject.toml").read_text()
    assert OURS in VERSIONS
