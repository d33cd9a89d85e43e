"""What a command that takes long shows, and how it is stopped."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator

import pytest
from django.core.management.base import OutputWrapper

from elicit_flows.management import progress
from elicit_flows.management.progress import Progress, Stopped
from tests.support.process import until


class Screen(io.StringIO):
    """Somebody looks at it."""

    def isatty(self) -> bool:
        return True


def work(batches: int, told: Progress, at: int = 0, number: int = signal.SIGTERM) -> Iterator[int]:
    for batch in range(1, batches + 1):
        if batch == at:
            os.kill(os.getpid(), number)
        yield batch
        told.done("rows", 100)


def _twice(number: int) -> None:
    """The second when the first was heard: two that come at once are one."""
    told = signal.getsignal(number)
    os.kill(os.getpid(), number)
    until(lambda: signal.getsignal(number) != told, "the first was heard")
    os.kill(os.getpid(), number)
    until(lambda: False, "the second was heard", timeout=5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_ends_after_the_batch_and_says_how_to_go_on(number: int) -> None:
    before, seen = signal.getsignal(number), []
    with pytest.raises(Stopped) as stopped, Progress(OutputWrapper(io.StringIO()), "manage.py tidy") as told:
        seen.extend(work(9, told, at=3, number=number))
    assert told.counts == {"rows": 300}, "the third was finished, the fourth not begun"
    assert str(stopped.value) == "Stopped; done so far: 300 rows. `manage.py tidy` continues with the rest."
    assert stopped.value.returncode == 130
    assert signal.getsignal(number) is before


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Whoever starts the tests in the background of a shell starts them deaf to SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_told_twice_it_ends_at_once() -> None:
    told = Progress(OutputWrapper(io.StringIO()), "manage.py tidy")
    with pytest.raises(KeyboardInterrupt), told:
        _twice(signal.SIGINT)


def test_who_looks_sees_the_counts_and_a_log_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_EVERY", -1.0)
    for stream, shown in ((Screen(), True), (io.StringIO(), False)):
        with Progress(OutputWrapper(stream), "manage.py tidy", total=1200) as told:
            list(work(12, told))
        assert (stream.getvalue().endswith("1,200 rows of 1,200\n")) is shown
        assert bool(stream.getvalue()) is shown
