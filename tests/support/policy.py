"""The rules for every test: a time limit, no network beyond this machine, and nothing left out silently."""

from __future__ import annotations

import errno
import faulthandler
import gc
import ipaddress
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from tests.support.box import LIVE
from tests.support.left_out import summary
from tests.support.machine import within
from tests.support.process import dismiss_guardian, fork_server

LIMIT = 60  # seconds for the test itself; @pytest.mark.limit(seconds) gives another
SETUP_LIMIT = 300  # seconds: the first test to ask starts servers, and installs the peers on a new machine
WHY = 300  # characters of what a failed test said, beside its name
LOG_TAIL = 3_000  # characters of each log in the report of a failed test
ROUTINE = re.compile(r'"level": "info", "logger": "celery\.')
LOCAL_NAMES = {"localhost", "localhost.", "ip6-localhost"}

_outside: list[str] = []


class OutsideError(OSError):
    """What a machine without a network would say."""


def is_local(address: object) -> bool:
    """Whether a socket address, or a name to be looked up, stays on this machine. Unix sockets do."""
    host = address[0] if isinstance(address, tuple) else address
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or (isinstance(address, str) and address.startswith("/")):
        return True
    try:
        ip = ipaddress.ip_address(host.partition("%")[0] or "127.0.0.1")
    except ValueError:
        return host in LOCAL_NAMES or host.endswith(".localhost")
    return ip.is_loopback or ip.is_unspecified


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    """Sees every connect of the process, whichever library makes it. Numeric addresses may be looked up: no packet."""
    if event in {"socket.connect", "socket.sendto"}:
        target = arguments[1]
        refused = isinstance(target, tuple) and not is_local(target)
    elif event == "socket.getaddrinfo":
        target = arguments[0]
        refused = isinstance(target, str | bytes) and not is_local(target) and not _is_number(target)
    else:
        return
    if refused:
        _outside.append(f"{event} {target!r}")
        raise OutsideError(errno.ENETUNREACH, f"tests stay on this machine: {event} {target!r}")


def _is_number(host: str | bytes) -> bool:
    try:
        ipaddress.ip_address(host if isinstance(host, str) else host.decode("ascii", "replace"))
    except ValueError:
        return False
    return True


@pytest.fixture(autouse=True)
def only_this_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the test that reached outside, even where the code under test took the refusal for an answer."""
    _outside.clear()
    yield
    if not request.node.get_closest_marker("reaches_out"):
        assert not _outside, f"the test reached outside: {_outside}"


@contextmanager
def _alarm(seconds: float, item: pytest.Item) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        left = within(seconds) - (time.monotonic() - began)
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        faulthandler.dump_traceback(all_threads=True)
        pytest.fail(f"{item.name} took more than {seconds:g} s")

    began = time.monotonic()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests are made and none is thrown away: to look among them for rubbish takes seconds each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)  # as much again as Python has; a test makes and drops thousands of objects


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _alarm(SETUP_LIMIT, item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("limit")
    with _alarm(marker.args[0] if marker else LIMIT, item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed:  # type: ignore[attr-defined]
        for box in LIVE:
            for name in box.processes:
                # Celery writes a line for each task that goes well: they would push out what went wrong.
                lines = [line for line in box.logs(name).splitlines() if not ROUTINE.search(line)]
                report.sections.append((f"{box.shape} box, {name}", "\n".join(lines)[-LOG_TAIL:]))  # type: ignore[attr-defined]
    return report


class NamesFailures:
    """Writes the name of what failed, and why, when it fails: pytest's -q names it when all is over."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.partition("\n")[0][:WHY] if crash else ""
            self._terminal.write(f"\nfailed in {report.when}: {report.nodeid}: {why}\n", red=True, flush=True)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = summary(terminalreporter.stats.get("skipped", []))
    if lines:
        terminalreporter.section("left out", sep="-")
        for line in lines:
            terminalreporter.line(line)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_audit)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal:
        config.pluginmanager.register(NamesFailures(terminal))
    if config.getoption("numprocesses", None):
        fork_server()  # before the workers ask for it


def pytest_unconfigure(config: pytest.Config) -> None:
    dismiss_guardian()
