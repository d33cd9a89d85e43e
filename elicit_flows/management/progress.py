"""Progress of long commands, which stop between two batches. What is done stays done."""

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
    """The command was ended by Ctrl-C or SIGTERM, between two batches."""


class Progress:
    """Counts what a command did, shows the counts if stderr is a terminal, and handles Ctrl-C and SIGTERM.

    Use it as a context manager, and call ``done("events", 500)`` after each batch, outside of transactions. It raises
    Stopped after the first signal. A second signal ends the command at once. ``again`` is the command line that
    continues with the rest; it may be changed on the way.
    """

    def __init__(self, stderr: OutputWrapper, again: str, total: int | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.again = again
        self._stderr, self._total = stderr, total
        self._stopping = False
        self._shown_at = 0.0
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers only there
            self._handlers = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._restore_handlers()
        if self._shown_at:
            self._show(ending="\n")

    def done(self, what: str, count: int = 1) -> None:
        """``count`` more of ``what`` are committed. Raises Stopped."""
        self.counts[what] += count
        if self._stderr.isatty() and time.monotonic() - self._shown_at > SHOW_EVERY:
            self._shown_at = time.monotonic()
            self._show()
        if self._stopping:
            raise Stopped(f"Stopped; done so far: {self}. `{self.again}` continues with the rest.", returncode=130)

    def __str__(self) -> str:
        """``1,500 events, 3 sessions``."""
        return ", ".join(f"{count:,} {what}" for what, count in self.counts.items() if count) or "nothing"

    def _show(self, ending: str = "") -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        self._stderr.write(f"\r\x1b[K{self}{of}", ending=ending)
        self._stderr.flush()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        self._restore_handlers()
        self._stderr.write("\nStopping after this batch. Press again to stop at once.")

    def _restore_handlers(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}
