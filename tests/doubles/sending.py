"""The two HTTP clients behind one interface: one for threads, one for an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from elicit_flows import http


class Send(Protocol):
    def __call__(self, method: str, url: str, **how: Any) -> http.Reply: ...


@contextlib.contextmanager
def from_a_loop() -> Iterator[Send]:
    """``AsyncClient.send`` in a loop of its own, waited for."""
    loop, client = asyncio.new_event_loop(), http.AsyncClient()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def end() -> None:
        client.close()
        await asyncio.sleep(0.01)  # what was hung up is closed

    def send(method: str, url: str, **how: Any) -> http.Reply:
        return asyncio.run_coroutine_threadsafe(client.send(method, url, **how), loop).result()

    try:
        yield send
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
