"""Tests that were left out because the machine lacks something. They are listed at the end; REQUIRE_ALL=1 fails."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

PREFIX = "left out: "


def left_out(what: str) -> NoReturn:
    """Leaves the running test out. ``what`` names the missing thing and the remedy: "Chromium: apt-get install …"."""
    if os.environ.get("REQUIRE_ALL") == "1":
        pytest.fail(f"{PREFIX}{what} (and REQUIRE_ALL=1)", pytrace=False)
    pytest.skip(PREFIX + what)


def summary(skipped: list[pytest.TestReport]) -> list[str]:
    """One line for each reason, with the number of tests that it cost."""
    counts: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ").removeprefix(PREFIX)
        counts[reason] = counts.get(reason, 0) + 1
    return [f"{reason} ({count} test{'s' if count > 1 else ''})" for reason, count in sorted(counts.items())]
