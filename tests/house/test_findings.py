"""The table of what the reviews found leads to tests that there are today."""

from __future__ import annotations

import re

import pytest

from tests.house import findings
from tests.house.findings.__main__ import Case, fault_of, read
from tests.support.process import PROJECT

# The front page says other words now: its tests were written for the words of then.
OF_THEN = "tests/admin/test_front_said.py"


@pytest.mark.parametrize("finding", read(), ids=lambda one: one.id)
def test_each_finding_has_tests_that_run_today(finding: findings.__main__.Finding) -> None:
    today = " ".join(path.read_text() for path in (PROJECT / "tests").rglob("test_*.py"))
    assert finding.fails
    for test in finding.fails:
        name = test.rpartition("::")[2]
        assert re.search(rf"\bdef {name}\(" if OF_THEN not in test else rf"\bdef {name}", today), name


def test_only_a_failure_for_its_reason_shows_a_finding() -> None:
    failed = Case("failure", "assert 200 == 302")
    assert fault_of([failed, Case("passed", "")], "200 == 302") == ""
    assert fault_of([], "200") == "was not run"
    assert fault_of([Case("passed", "")], "200") == "passed"
    assert fault_of([failed], "404").startswith("failed otherwise: assert 200")
    assert fault_of([failed, Case("error", "ImportError")], "200") == "error: ImportError"
    assert fault_of([failed, Case("skipped", "no nginx")], "200") == "skipped: no nginx"
