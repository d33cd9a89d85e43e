"""The order in which the workers of a run take the files: those that take long first, so that none is left at the end.

pytest-xdist would begin with the file that has the most tests, which are the quick ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

# Fixtures that start processes; what a test has without them happens inside its own process.
STARTING = {
    "elicit_box",
    "new_op",
    "new_box",
    "shared_chromium",
    "own_postgres",
    "own_redis",
    "fragile_servers",
    "wheel",
    "make_clone",
}
SLOW, STARTED, INSIDE = 10.0, 3.0, 0.05  # seconds: which of two takes longer is all that is asked


def weight(item: pytest.Item) -> float:
    """About how long the test takes. One that may take long says so itself."""
    marker = item.get_closest_marker("limit")
    if marker:
        return float(marker.args[0])
    if item.get_closest_marker("slow"):
        return SLOW
    return STARTED if STARTING & set(getattr(item, "fixturenames", ())) else INSIDE


def by_weight(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The heaviest file first; what is in a file stays as it is."""
    kept = list(items)
    weights = Counter[str]()
    for item in kept:
        weights[str(item.path)] += weight(item)  # type: ignore[assignment]
    return sorted(kept, key=lambda item: -weights[str(item.path)])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items[:] = by_weight(items)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        config.option.loadscopereorder = False
