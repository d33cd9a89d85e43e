"""What a command that takes long shows, and how it is stopped: between batches, what is done stays done."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from types import FrameType, TracebackType
from typing import Any, Self

from django.core.management.base import CommandError, OutputWrapper

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHOW_EVERY = 0.2  # seconds


class Stopped(CommandError):
    """Somebody ended the command by Ctrl-C or SIGTERM. Nothing is half done."""


class Progress:
    """``with Progress(self.stderr, "manage.py purge", total=None) as progress:`` and ``progress.done("events", 500)``
    after each batch, with no transaction open: it shows the counts where stderr is a terminal, and raises Stopped when
    the command was told to end. Told twice, it ends at once. ``again`` is the command that goes on with the rest; it
    may change as the command goes.
    """

    def __init__(self, stderr: OutputWrapper, again: str, total: int | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.again = again
        self._stderr, self._total = stderr, total
        self._stopping = False
        self._shown_at = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # elsewhere there are no signals
            self._before = {number: signal.signal(number, self._told) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._give_back()
        if self._shown_at:
            self._show(ending="\n")

    def done(self, what: str, count: int = 1) -> None:
        """``count`` more of ``what`` are done for good. Raises Stopped."""
        self.counts[what] += count
        if self._stderr.isatty() and time.monotonic() - self._shown_at > SHOW_EVERY:
            self._shown_at = time.monotonic()
            self._show()
        if self._stopping:
            raise Stopped(f"Stopped; done so far: {self}. `{self.again}` goes on with the rest.", returncode=130)

    def __str__(self) -> str:
        """``1,500 events, 3 sessions``."""
        return ", ".join(f"{count:,} {what}" for what, count in self.counts.items() if count) or "nothing"

    def _show(self, ending: str = "") -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        self._stderr.write(f"\r\x1b[K{self}{of}", ending=ending)
        self._stderr.flush()

    def _told(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        self._give_back()
        self._stderr.write("\nStopping after this batch; again to stop at once.")

    def _give_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
