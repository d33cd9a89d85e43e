"""Loads values by key in batches: a call of the database and a change of thread for all that are asked for meanwhile.

What is created by a request is loaded the same way, with the request as its key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar

from django.db import Error

log = logging.getLogger(__name__)
K = TypeVar("K")
V = TypeVar("V")
MOST = 100


class BatchLoader(Generic[K, V]):
    """Keys that are asked for while a batch is being loaded are the next batch, of at most ``most``.

    So a value was always read after it was asked for. ``run`` runs a call in a thread. ``load_all`` gets the keys of a
    batch, and leaves out those for which it has no value. Use it from one event loop only.
    """

    def __init__(
        self,
        run: Callable[[Callable[[], dict[K, V]]], Awaitable[dict[K, V]]],
        load_all: Callable[[list[K]], dict[K, V]],
        most: int = MOST,
    ) -> None:
        self._run, self._load_all, self._most = run, load_all, most
        self._waiting: list[tuple[K, asyncio.Future[V | None]]] = []
        self._loading: asyncio.Task[None] | None = None

    async def load(self, key: K) -> V | None:
        """The value of ``key``; None if there is none, or if loading the batch failed."""
        loop = asyncio.get_running_loop()
        value: asyncio.Future[V | None] = loop.create_future()
        self._waiting.append((key, value))
        if self._loading is None:
            self._loading = loop.create_task(self._load_batches())
        return await value

    async def _load_batches(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                values: dict[K, V] = {}
                try:
                    values = await self._run(partial(self._load_all, [key for key, _ in batch]))
                except (Error, RuntimeError, MemoryError) as error:  # of the database; or no thread could be started
                    log.warning("a batch was not loaded: %s", type(error).__name__)
                finally:  # without a value, whoever asked goes another way, and gets the error there
                    for key, value in batch:
                        if not value.done():  # whoever asked may have left
                            value.set_result(values.get(key))
        finally:  # after an error that nobody expected, the others are loaded by another task
            self._loading = asyncio.create_task(self._load_batches()) if self._waiting else None
