"""An event loop in a thread of its own, for calls that other threads wait for."""

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
    """``work`` as a task of ``loop``. The thread that waits for it runs the functions that the task passes to
    ``there``.
    """

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
        """Return or raise what ``work`` does. An interrupt of the waiting thread (KeyboardInterrupt) cancels
        ``work``.
        """
        try:
            while job := self._jobs.get():
                job()
        finally:
            # Cancel the task if it is still running, and wait until it has released its connection.
            if not self._over.is_set():
                with suppress(RuntimeError):  # the loop has just ended, and the task before it
                    self._loop.call_soon_threadsafe(self._cancel)
                self._over.wait()
        if self._task.cancelled():
            raise ElicitError("closed", "The client was closed while this call waited")
        return self._task.result()

    def _cancel(self) -> None:
        self._task.cancel()

    async def there(self, function: Callable[[], T]) -> T:
        """Run ``function`` in the waiting thread and return its result. If it raises, ``wait`` raises, and the task
        ends.
        """
        answer: Future[T] = Future()

        def job() -> None:
            if answer.set_running_or_notify_cancel():
                answer.set_result(function())

        self._jobs.put(job)
        return await asyncio.wrap_future(answer)


CURRENT: ContextVar[Call[Any]] = ContextVar("CURRENT")


class LoopThread:
    """The loop starts with the first call and ends with ``close``, which awaits ``leave`` at the end."""

    def __init__(self, leave: Callable[[], Awaitable[None]]) -> None:
        self._leave = leave
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return or raise what ``work`` does. Raises RuntimeError if the loop cannot run it."""
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
                started: Future[asyncio.AbstractEventLoop] = Future()
                self._stop = asyncio.Event()
                self._thread = threading.Thread(target=self._live, args=(started,), name="elicit", daemon=True)
                self._thread.start()
                self._loop = started.result()
            elif not self._thread.is_alive():
                raise RuntimeError("The client was made before this process was forked: make one in each process")
            if threading.current_thread() is self._thread:
                raise RuntimeError("The client would wait for itself: do not call it from its own coroutine functions")
            return Call(self._loop, work)

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
        """Cancel all calls, and wait until the thread has ended. A second call does nothing."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._thread and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread:
            self._thread.join()
