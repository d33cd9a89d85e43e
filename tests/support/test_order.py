"""Long test files run first: tested with small test files in a run of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import PROJECT, clean_env

FILES = {
    "test_many.py": "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_quick(n): pass\n",
    "test_one.py": "import pytest\n@pytest.mark.limit(120)\ndef test_long(): pass\n",
    "test_two.py": "import pytest\n@pytest.fixture\ndef new_box(): pass\ndef test_box(new_box): pass\n",
}


@pytest.mark.slow
def test_workers_begin_with_the_files_that_take_long(tmp_path: Path) -> None:
    for name, source in FILES.items():
        (tmp_path / name).write_text(source)
    plugins = ["-p", "tests.support.policy", "-p", "tests.support.order", "-p", "no:django", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", str(tmp_path), "-c", "pyproject.toml", f"--rootdir={PROJECT}", *plugins]
    ran = subprocess.run(
        [*command, "-n", "1", "--dist", "loadfile", "-vv"], cwd=PROJECT, env=clean_env(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = [line for line in ran.stdout.splitlines() if "PASSED" in line]
    order = [name for line in told for name in FILES if name in line]
    assert order == ["test_one.py", "test_two.py", *["test_many.py"] * 9]
