"""Two child processes that start and stop together."""

from __future__ import annotations

import queue
import signal
import subprocess
import threading
import time
from types import FrameType, TracebackType
from typing import NoReturn, Self

import httpx2

ASK_SECONDS = 2.0
EVERY_SECONDS = 0.1
GRACE_SECONDS = 10.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """This process was asked to stop."""


class Gone(Exception):
    """A child ended, or never answered."""


class Family:
    """Children have names that fit into a sentence. ``environment`` is the whole environment of all of them.

    Within the block, SIGINT, SIGTERM and SIGHUP are raised as Stopped by ``wait`` and ``wait_for``. Each child leads a
    session of its own, so that Ctrl-C reaches this process only; the end of the block stops the children.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._news: queue.SimpleQueue[Exception] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        for number in SIGNALS:
            signal.signal(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._news.put(Stopped())

    def start(self, name: str, command: list[str]) -> None:
        child = subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL, start_new_session=True)
        self._children[name] = child
        threading.Thread(target=self._watch, args=(name, child), daemon=True).start()

    def _watch(self, name: str, child: subprocess.Popen[bytes]) -> None:
        code = child.wait()
        self._news.put(Gone(f"{name.capitalize()} ended by itself with exit code {code}; the rest was stopped."))

    def wait(self) -> NoReturn:
        """Wait until a child ends or a signal arrives. Raises Stopped or Gone."""
        raise self._news.get()

    def wait_for(self, urls: list[str], seconds: float) -> None:
        """Wait until each URL answers 200. Raises Gone after ``seconds``, and whatever ``wait`` raises."""
        deadline = time.monotonic() + seconds
        while urls := [url for url in urls if not answers(url)]:
            if time.monotonic() > deadline:
                raise Gone(f"Nothing answers at {urls[0]} after {seconds:g} seconds; everything was stopped.")
            try:
                raise self._news.get(timeout=EVERY_SECONDS)
            except queue.Empty:
                continue

    def _end(self) -> None:
        """Ask every child to end, and kill those that are still there after the grace period."""
        for child in self._children.values():
            child.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for child in self._children.values():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=ASK_SECONDS, trust_env=False).is_success
    except httpx2.TransportError:
        return False
