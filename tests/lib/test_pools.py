"""T124: threads are shared by turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise

import pytest
from django.conf import settings

from elicit_flows.jobs import worker
from elicit_flows.lib import thread_pools
from elicit_flows.lib.call_window import CallWindow
from elicit_flows.lib.thread_pools import ThreadPool


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What the calls of a test wait for."""
    gate = threading.Event()
    yield gate
    gate.set()


def pool(threads: int, share: int) -> ThreadPool:
    return ThreadPool("test", threads=threads, share=share, outside=True)


@contextmanager
def no_more_threads() -> Iterator[None]:
    """As where there is no memory for one: its stack would need more than any machine has."""
    threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(0)


def test_f22_a_call_that_no_thread_could_be_started_for_takes_no_place_from_others() -> None:
    one = pool(2, 2)

    async def play() -> int:
        with no_more_threads():
            for _ in range(5):
                with pytest.raises(RuntimeError):
                    await one.run("who", lambda: 1)
        return await asyncio.wait_for(one.run("who", lambda: 7), 10)

    assert asyncio.run(play()) == 7
    assert one.load() == (2, 0, 0)
    assert len(one.threads) == 1
    one.shutdown()


class Window(CallWindow[str]):
    def begin_due(self) -> int:
        return 0


def test_f22_a_call_to_the_outside_waits_until_a_thread_can_be_started_and_its_result_is_kept() -> None:
    window, results = Window("test", 4, 1), list[int]()
    with no_more_threads():
        window.start("who", lambda: 7, lambda done: results.append(done.result()))
        window.start_due()
    assert not window.idle
    window.start_due()
    assert window.wake.wait(10)
    window.start_due()
    assert results == [7]
    assert window.has_room("who")
    window.close()


def test_f22_a_job_that_could_not_be_started_is_started_by_the_next_who_wakes_it(
    committed: None, gate: threading.Event
) -> None:
    def work() -> bool:
        gate.set()
        return False

    job = worker.JobThread("expire", lambda: worker.Plain(work))
    with no_more_threads():
        job.wake()
    assert not gate.is_set()
    job.wake()
    assert gate.wait(10)
    job.stop()
    job.join(10)


def test_t124_who_comes_last_does_not_wait_for_all_of_another(gate: threading.Event) -> None:
    order: list[str] = []

    async def play() -> None:
        one = pool(1, 1)

        def call(name: str) -> None:
            gate.wait(10)
            order.append(name)

        many = [asyncio.ensure_future(one.run("many", lambda: call("many"))) for _ in range(5)]
        await asyncio.sleep(0)
        few = asyncio.ensure_future(one.run("few", lambda: call("few")))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*many, few)

    asyncio.run(play())
    assert order == ["many", "many", "few", "many", "many", "many"] or order[1] == "few"


def test_t124_one_key_leaves_threads_to_others(gate: threading.Event) -> None:
    async def play() -> None:
        shared = pool(3, 2)
        many = [asyncio.ensure_future(shared.run("many", lambda: gate.wait(10))) for _ in range(9)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(shared.run("few", lambda: "done"), 5) == "done"
        gate.set()
        await asyncio.gather(*many)

    asyncio.run(play())


def test_t124_who_leaves_the_queue_takes_no_thread_along(gate: threading.Event) -> None:
    async def play() -> None:
        shared = pool(1, 1)
        first = asyncio.ensure_future(shared.run("a", lambda: gate.wait(10)))
        await asyncio.sleep(0)
        leaving = [asyncio.ensure_future(shared.run(key, lambda: None)) for key in ("a", "b", "c")]
        await asyncio.sleep(0)
        leaving[0].cancel()
        leaving[1].cancel()
        gate.set()
        await first
        leaving[2].cancel()  # its turn may have come just now
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*leaving)
        assert await asyncio.wait_for(shared.run("d", lambda: "done"), 5) == "done"

    asyncio.run(play())


def test_a_call_that_fails_gives_its_thread_back() -> None:
    async def play() -> None:
        shared = pool(1, 1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await shared.run("a", lambda: 1 / 0)

    asyncio.run(play())


def test_a_declaration_is_seen_through_decorators() -> None:
    @thread_pools.asks_outside
    def view() -> None: ...

    assert view.asks_outside  # type: ignore[attr-defined]


def test_a_call_whose_caller_left_keeps_its_thread_until_it_ends(gate: threading.Event) -> None:
    async def play() -> None:
        shared = pool(1, 1)
        left = asyncio.ensure_future(shared.run("a", lambda: gate.wait(10)))
        await asyncio.sleep(0.05)
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        assert shared.load() == (1, 1, 0)
        following = asyncio.ensure_future(shared.run("a", lambda: "done"))
        await asyncio.sleep(0.05)
        assert not following.done()
        gate.set()
        assert await asyncio.wait_for(following, 5) == "done"
        assert shared.load() == (1, 0, 0)
        shared.shutdown()

    asyncio.run(play())


def test_the_thread_that_was_used_last_is_used_first_and_the_others_let_go() -> None:
    """So the threads of a short burst become idle, and their connections are closed."""
    together = threading.Barrier(4)
    gone: list[int] = []

    def wave() -> int:
        together.wait(10)
        return threading.get_ident()

    async def play() -> None:
        let_go = lambda: gone.append(threading.get_ident())  # noqa: E731
        one = ThreadPool("test", threads=4, share=4, outside=True, let_go=let_go, idle=0.3)
        all_of_them = set(await asyncio.gather(*(one.run("a", wave) for _ in range(4))))
        assert len(all_of_them) == 4
        used = {await one.run("a", threading.get_ident) for _ in range(20)}
        assert len(used) == 1
        deadline = asyncio.get_running_loop().time() + 10
        while len(set(gone)) < 3 and asyncio.get_running_loop().time() < deadline:
            used.add(await one.run("a", threading.get_ident))
            await asyncio.sleep(0.01)
        assert set(gone) == all_of_them - used
        assert len(used) == 1
        assert await asyncio.gather(*(one.run("a", wave) for _ in range(4))), "they go on when they are needed"
        one.shutdown()

    asyncio.run(play())


def test_the_jobs_of_a_process_look_for_what_is_due_at_different_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = list(worker.threads().values())
    for now in (0.0, 12.34, 1e6):
        monkeypatch.setattr(worker.time, "monotonic", lambda now=now: now)
        left = {job.name: job.until_next() for job in jobs}
        assert all(0 < left[name] <= settings.JOB_SECONDS[name] for name in left), left
        for pause in set(settings.JOB_SECONDS.values()):
            alike = sorted(left[name] for name in left if settings.JOB_SECONDS[name] == pause)
            apart = [after - before for before, after in pairwise(alike)]
            assert all(gap > 0.9 * pause / len(jobs) for gap in apart), (now, left)
