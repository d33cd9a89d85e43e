"""The run of the mutants starts its own servers in the copy of the project."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.process import PROJECT


@pytest.mark.slow
@pytest.mark.limit(240)
def test_a_mutant_whose_test_needs_the_service_is_caught() -> None:
    # T3 has one mutant. Its test starts the service and two identity providers.
    ran = subprocess.run(
        [sys.executable, "-m", "tests.house.mutants", "T3"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines()[-1:] == ["1 of 1 mutants caught"], ran.stdout + ran.stderr
    assert ran.returncode == 0
