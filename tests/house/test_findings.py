"""The table of what the reviews found leads to tests that there are today."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.house import findings
from tests.house.findings.__main__ import Case, fault_of, read
from tests.support.op import PEERS
from tests.support.process import PROJECT

HERE = PROJECT / "tests" / "house" / "findings" / "reviewed"


@pytest.fixture(scope="module")
def today() -> str:
    """The text of every test file, without those of the reviewed commit and of the peers."""
    found = []
    for folder, inner, files in os.walk(PROJECT / "tests"):
        inner[:] = [name for name in inner if Path(folder, name) not in {HERE, PEERS}]
        found += [Path(folder, name).read_text() for name in files if fnmatch(name, "test_*.py")]
    return " ".join(found)


@pytest.mark.parametrize("finding", read(), ids=lambda one: one.id)
def test_each_finding_has_tests_that_run_today(finding: findings.__main__.Finding, today: str) -> None:
    assert finding.fails
    for test in finding.fails:
        file, name = test.split("::")
        assert f"def {name}(" in today, name
        assert f"def {name}(" in (HERE / file).read_text(), test


def test_each_test_of_the_reviewed_commit_is_in_the_table() -> None:
    listed = {test for one in read() for test in one.fails}
    written = {
        f"{path.relative_to(HERE).as_posix()}::{name}"
        for path in HERE.rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)\(", path.read_text(), re.MULTILINE)
    }
    assert written == listed


def test_only_a_failure_for_its_reason_shows_a_finding() -> None:
    failed = Case("failure", "assert 200 == 302")
    assert fault_of([failed, Case("passed", "")], "200 == 302") == ""
    assert fault_of([], "200") == "was not run"
    assert fault_of([Case("passed", "")], "200") == "passed"
    assert fault_of([failed], "404").startswith("failed otherwise: assert 200")
    assert fault_of([failed, Case("error", "ImportError")], "200") == "error: ImportError"
    assert fault_of([failed, Case("skipped", "no nginx")], "200") == "skipped: no nginx"
