"""The embedded worker: no error in a round ends it."""

from __future__ import annotations

import threading

import pytest
from django.conf import LazySettings
from django.db import OperationalError

from elicit_flows.jobs import worker
from tests.support import jobs


@pytest.mark.parametrize("trouble", [OperationalError("gone"), RuntimeError("unforeseen")])
def test_the_worker_goes_on_after_a_round_that_failed(
    committed: None, monkeypatch: pytest.MonkeyPatch, settings: LazySettings, trouble: Exception
) -> None:
    rounds: list[int] = []
    again = threading.Event()

    def expire() -> None:
        rounds.append(1)
        if len(rounds) == 1:
            raise trouble
        again.set()

    monkeypatch.setattr(worker, "expire", expire)
    settings.JOB_SECONDS = settings.JOB_SECONDS | {"expire": 0.05}
    embedded = worker.Embedded()
    embedded.start()
    try:
        assert again.wait(10)
    finally:
        embedded.stop()


def test_a_sweep_counts_what_it_moved_so_that_sweeping_comes_to_an_end(
    committed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that cannot be changed must not keep the sweeper in an endless loop."""
    calls: list[int] = []

    def sweep() -> int:
        calls.append(1)
        return 0

    monkeypatch.setattr(worker.elicitations, "sweep", sweep)
    jobs.tick()
    assert calls == [1]
