"""An event loop in a thread of its own, and calls that other threads wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from elicit_flows.sdk.errors import ElicitError

T = TypeVar("T")


class Call(Generic[T]):
    """``work`` as a task of ``loop``. The thread that waits for it does meanwhile what the task asks of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._work = work
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._over = threading.Event()
        loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        context = copy_context()
        context.run(CURRENT.set, self)
        self._task = self._loop.create_task(self._work, context=context)
        self._task.add_done_callback(self._end)

    def _end(self, _: asyncio.Task[T]) -> None:
        self._over.set()
        self._jobs.put(None)

    def wait(self) -> T:
        """What ``work`` returns or raises. Whatever interrupts the waiting thread (KeyboardInterrupt) cancels it."""
        try:
            while job := self._jobs.get():
                job()
        finally:
            self._give_up()
        if self._task.cancelled():
            raise ElicitError("closed", "The client was closed meanwhile")
        return self._task.result()

    def _give_up(self) -> None:
        """Nothing, where it has ended; else it is cancelled, and has let go of its connection on return."""
        if not self._over.is_set():
            with suppress(RuntimeError):  # the loop ended just now, and the task before it
                self._loop.call_soon_threadsafe(self._cancel)
            self._over.wait()

    def _cancel(self) -> None:
        self._task.cancel()

    async def there(self, function: Callable[[], T]) -> T:
        """What ``function`` returns in the thread that waits. If it raises, so does ``wait``, and the task ends."""
        answer: Future[T] = Future()

        def job() -> None:
            if answer.set_running_or_notify_cancel():
                answer.set_result(function())

        self._jobs.put(job)
        return await asyncio.wrap_future(answer)


CURRENT: ContextVar[Call[Any]] = ContextVar("CURRENT")


class LoopThread:
    """The loop starts with the first call and ends with ``close``, which awaits ``leave`` last."""

    def __init__(self, leave: Callable[[], Awaitable[None]]) -> None:
        self._leave = leave
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` returns or raises. Raises RuntimeError where nobody would ever do it."""
        try:
            call = self._begin(work)
        except RuntimeError:
            work.close()
            raise
        return call.wait()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Call[T]:
        with self._lock:
            if self._closed:
                raise RuntimeError("The client is closed")
            if self._thread is None:
                self._start()
            elif not self._thread.is_alive():
                raise RuntimeError("The client was made before this process was forked: make one in each process")
            if threading.current_thread() is self._thread:
                raise RuntimeError("The client would wait for itself: await nothing of it in a coroutine function")
            return Call(self._loop, work)

    def _start(self) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._live, args=(started,), name="elicit", daemon=True)
        self._thread.start()
        self._loop = started.result()

    def _live(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        with asyncio.Runner() as runner:
            started.set_result(runner.get_loop())
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        await self._stop.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.get_running_loop().shutdown_asyncgens()
        await self._leave()

    def close(self) -> None:
        """Whoever waits is told; the thread has ended when this returns. Again is harmless."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._thread and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread:
            self._thread.join()
