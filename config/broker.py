"""Celery's Redis transport and scheduler, made to survive bad messages and lost connections."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery.beat import PersistentScheduler, ScheduleEntry
from django.conf import settings
from kombu.transport import redis

from elicit_flows.jobs import celery_hints
from elicit_flows.lib import alive

log = logging.getLogger(__name__)


class Channel(redis.Channel):
    _commands: Any = None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """Kombu makes a client for each command, which takes longer than the command. Here the channel keeps one, as
        long as it keeps the pool of connections.
        """
        if self._commands is None or self._commands.connection_pool is not self.pool:
            self._commands = self._create_client()  # type: ignore[no-untyped-call]
        yield client or self._commands

    def _brpop_read(self, **options: Any) -> Any:
        """Drop what is not a message. Kombu would let it end the worker."""
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            _dropped("the broker", error)
            return True

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        """Ignore a message of a lost connection. Celery acknowledges it after it has reconnected, and kombu ends the
        worker then, because it has forgotten that the queue needs no acknowledgements.
        """
        if self.connection is not None:
            super().basic_ack(delivery_tag, multiple)  # type: ignore[no-untyped-call]


class Transport(redis.Transport):
    Channel = Channel

    def _deliver(self, message: Any, queue: str) -> None:
        """Drop a message that cannot be read as a task. Errors of the task itself are not raised here."""
        try:
            super()._deliver(message, queue)  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            _dropped(queue, error)


def _dropped(where: str, error: Exception) -> None:
    """The content is not logged: whoever reaches the broker may have written it."""
    log.error("dropped something from %s that is not a Celery message: %s", where, type(error).__name__)


class Scheduler(PersistentScheduler):
    def tick(self, *args: Any, **kwargs: Any) -> float:
        alive.touch(settings.ELICIT_ALIVE_FILE)
        return float(super().tick(*args, **kwargs))  # type: ignore[no-untyped-call]

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        """Publish nothing while the last message still waits, so that a worker that was away finds one of each task."""
        if producer is not None and celery_hints.waits(producer.channel, celery_hints.queue_of(entry.task)):
            return self.reserve(entry) if advance else None  # type: ignore[no-untyped-call]
        return super().apply_async(entry, producer, advance, **kwargs)  # type: ignore[no-untyped-call]
