"""The client without await, over real HTTP to a service that follows a script."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from elicit_flows.sdk import Completed, Elicit, ElicitError, NotCompleted, Outcome, StillWaiting, SyncElicit
from tests.sdk.fake import COMPLETED, ELICITATION, SILENCE, FakeService, Reply, problem, stream
from tests.support.machine import within
from tests.support.process import until

ALICE = ("https://idp.example", "alice")
CREATE = ("POST", "/v1/elicitations")
ONE = ("GET", "/v1/elicitations/el_1")
FEED = ("GET", "/v1/events")
SOON = 5.0  # seconds


@pytest.fixture
def elicit(service: FakeService) -> Iterator[SyncElicit]:
    with SyncElicit(service.url, "key-of-the-tests") as client:
        yield client
    assert [thread for thread in threading.enumerate() if thread.name == "elicit"] == []


def test_elicitations_are_listed(service: FakeService, elicit: SyncElicit) -> None:
    service.on("GET", "/v1/elicitations", Reply({"data": [ELICITATION], "next_cursor": None}))
    assert [one.id for one in elicit.elicitations(ALICE)] == ["el_1"]


def public(client: type) -> dict[str, inspect.Signature]:
    return {name: inspect.signature(getattr(client, name)) for name in dir(client) if not name.startswith("_")}


def waiting(service: FakeService) -> None:
    until(lambda: [asked for asked in service.asked if "wait" in asked.query], "somebody waits", timeout=SOON)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As a program in a terminal is: whoever started the tests in the background has Ctrl-C ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def interrupt_once_asked(service: FakeService, times: int = 1) -> None:
    """What Ctrl-C does, once the service was asked that often."""
    until(lambda: len(service.asked) >= times, "the service is asked", timeout=SOON)
    os.kill(os.getpid(), signal.SIGINT)


def ask(elicit: SyncElicit, on_url: object = print) -> Outcome:
    return elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=on_url)  # type: ignore[arg-type]


def test_it_has_every_method_of_the_async_one_with_the_same_signature() -> None:
    awaited, called = public(Elicit), public(SyncElicit)
    assert awaited.pop("aclose") == called.pop("close")
    for name in (
        "events",
        "elicitations",
        "payments",
        "mandates",
        "charges",
        "subscriptions",
        "renewals",
        "api",
    ):  # generators, and an HTTP client
        awaited[name] = awaited[name].replace(return_annotation=called[name].return_annotation)
    assert called == awaited
    assert len(called) > 20
    assert inspect.signature(SyncElicit) == inspect.signature(Elicit)
    assert not any(inspect.iscoroutinefunction(getattr(SyncElicit, name)) for name in called)


def test_it_asks_waits_and_its_outcome_buys_a_token(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION | {"status": "started", "seq": 2}), Reply(COMPLETED))
    service.on("POST", "/v1/connections/cn_1/token", Reply({"access_token": "at-very-secret"}))
    shown: list[str] = []
    outcome = ask(elicit, shown.append)
    assert isinstance(outcome, Completed)
    assert shown == ["http://127.0.0.1/c/el_1"]
    assert elicit.token(outcome).access_token == "at-very-secret"


def test_errors_are_those_of_the_async_one(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, problem(403, "forbidden"), Reply(ELICITATION | {"status": "declined"}, 201))
    with pytest.raises(ElicitError) as refused:
        ask(elicit)
    assert refused.value.code == "forbidden"
    with pytest.raises(NotCompleted):
        elicit.token(ask(elicit))


def test_the_link_is_shown_in_the_thread_that_asks_which_may_use_the_client(
    service: FakeService, elicit: SyncElicit
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION), Reply(COMPLETED))
    seen: list[object] = []

    def show(url: str) -> None:
        seen.append(threading.current_thread())
        seen.append(elicit.get("el_1").status)

    assert isinstance(ask(elicit, show), Completed)
    assert seen == [threading.current_thread(), "pending"]


def test_a_coroutine_function_may_take_the_link(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(COMPLETED))
    shown: list[str] = []

    async def show(url: str) -> None:
        shown.append(url)

    ask(elicit, show)
    assert shown == ["http://127.0.0.1/c/el_1"]


def test_a_coroutine_function_that_would_wait_for_itself_is_told(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))

    async def show(url: str) -> None:
        elicit.get("el_1")

    with pytest.raises(RuntimeError, match="wait for itself"):
        ask(elicit, show)


def test_what_on_url_raises_is_raised_and_nobody_waits(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    with pytest.raises(ZeroDivisionError):
        ask(elicit, lambda url: 1 / 0)
    assert len(service.asked) == 1


def test_a_timeout_ends_the_wait_within_a_second(service: FakeService, elicit: SyncElicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, SILENCE)
    began = time.monotonic()
    with pytest.raises(StillWaiting):
        elicit.confirm(ALICE, message="May I?", on_url=print, timeout=0.3)
    assert 0.3 <= time.monotonic() - began < within(1.3)
    assert service.hung_up.acquire(timeout=within(SOON))


def test_ctrl_c_ends_the_wait_hangs_up_and_leaves_the_client_usable(
    interruptible: None, service: FakeService, elicit: SyncElicit
) -> None:
    service.on(*ONE, Reply(ELICITATION), SILENCE, Reply(COMPLETED))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt_once_asked, service, 2)
        with pytest.raises(KeyboardInterrupt):
            elicit.wait("el_1")
    assert service.hung_up.acquire(timeout=within(SOON))
    assert elicit.wait("el_1").over


def test_many_threads_wait_at_once_on_one_client(service: FakeService, elicit: SyncElicit) -> None:
    together = threading.Barrier(4)
    service.on(*ONE, *[Reply(ELICITATION)] * 4, *[Reply(COMPLETED, when=lambda: together.wait(within(SOON)))] * 4)
    with ThreadPoolExecutor(4) as pool:
        assert all(one.over for one in pool.map(elicit.wait, ["el_1"] * 4))
    assert [thread.name for thread in threading.enumerate()].count("elicit") == 1


def test_closing_tells_whoever_waits_and_ends_the_thread(service: FakeService) -> None:
    service.on(*ONE, Reply(ELICITATION), SILENCE)
    elicit = SyncElicit(service.url, "key")
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(elicit.wait, "el_1")
        waiting(service)
        elicit.close()
        with pytest.raises(ElicitError) as closed:
            waits.result(within(SOON))
    assert closed.value.code == "closed"
    assert service.hung_up.acquire(timeout=within(SOON))
    assert "elicit" not in [thread.name for thread in threading.enumerate()]
    elicit.close()
    with pytest.raises(RuntimeError, match="closed"):
        elicit.get("el_1")


def test_a_client_that_was_never_used_has_no_thread_to_end(service: FakeService) -> None:
    with SyncElicit(service.url, "key"):
        assert "elicit" not in [thread.name for thread in threading.enumerate()]


def event(number: int) -> str:
    return f'id: c{number}\ndata: {{"id": "ev_{number}", "type": "t", "data": {{}}}}\n\n'


def test_events_are_a_plain_iterator_that_goes_on_after_a_cut_and_closes_early(
    service: FakeService, elicit: SyncElicit
) -> None:
    service.on(*FEED, stream(event(1) + event(2)), stream(event(3) + event(4), hold=True))
    events = elicit.events("c0")
    assert [next(events).id for _ in range(3)] == ["ev_1", "ev_2", "ev_3"]
    assert not service.hung_up.acquire(blocking=False)
    events.close()
    assert service.hung_up.acquire(timeout=within(SOON))
    assert [asked.headers.get("last-event-id") for asked in service.asked] == [None, "c2"]


def test_ctrl_c_ends_the_events(interruptible: None, service: FakeService, elicit: SyncElicit) -> None:
    service.on(*FEED, stream(": nothing yet\n\n", hold=True))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt_once_asked, service)
        with pytest.raises(KeyboardInterrupt):
            next(elicit.events())
    assert service.hung_up.acquire(timeout=within(SOON))


def test_closing_the_client_ends_the_events(service: FakeService) -> None:
    service.on(*FEED, stream(event(1), hold=True))
    elicit = SyncElicit(service.url, "key")
    events = elicit.events()
    next(events)
    elicit.close()
    assert service.hung_up.acquire(timeout=within(SOON))
    with pytest.raises(RuntimeError, match="closed"):
        next(events)


FORKED = """
import os, sys
from elicit_flows.sdk import SyncElicit
elicit = SyncElicit(sys.argv[1], "key")
elicit.get("el_1")
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    elicit.get("el_1")
except RuntimeError as error:
    os._exit(7 if "forked" in str(error) else 1)
"""


def test_after_a_fork_the_child_is_told_to_make_its_own(service: FakeService) -> None:
    service.on(*ONE, Reply(ELICITATION))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, service.url]
    assert subprocess.run(command, timeout=20, check=False).returncode == 7


def test_a_client_that_is_never_closed_keeps_no_program_from_ending(service: FakeService) -> None:
    service.on(*ONE, Reply(ELICITATION))
    code = "import sys; from elicit_flows.sdk import SyncElicit; SyncElicit(sys.argv[1], 'key').get('el_1')"
    ran = subprocess.run([sys.executable, "-c", code, service.url], timeout=20, check=False, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
