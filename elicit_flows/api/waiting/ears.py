"""Hearing the bells that other processes ring: Redis where there is one, else PostgreSQL's LISTEN.

An ear that loses its connection tries again; meanwhile the hub finds by polling what it does not hear.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
from django.conf import settings
from django.db import connection
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from elicit_flows.queue.bell import CHANNEL

log = logging.getLogger(__name__)
PAUSE = 1.0


class Ears:
    """One listening thread, or none where one process is all there is."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def start(self, heard: Callable[[int], None]) -> None:
        """Call ``heard`` with the agent's pk for each bell."""
        if settings.REDIS_URL:
            source = self._redis
        elif connection.vendor == "postgresql":
            source = self._postgresql
        else:
            return
        threading.Thread(target=self._listen, args=(source, heard), name="ears", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _listen(self, source: Callable[[], Iterator[str]], heard: Callable[[int], None]) -> None:
        while not self._stopping.is_set():
            try:
                for payload in source():
                    heard(int(payload))
            except (RedisError, OSError, psycopg.Error) as error:
                log.warning("the bell is not heard (%s); listening again", type(error).__name__)
                self._stopping.wait(PAUSE)

    def _redis(self) -> Iterator[str]:
        with closing(get_redis_connection("default").pubsub(ignore_subscribe_messages=True)) as pubsub:
            pubsub.subscribe(CHANNEL)
            while not self._stopping.is_set():
                message = pubsub.get_message(timeout=PAUSE)
                if message:
                    yield message["data"].decode()

    def _postgresql(self) -> Iterator[str]:
        parameters = connection.get_connection_params()
        with psycopg.connect(
            **{key: value for key, value in parameters.items() if key not in {"cursor_factory", "context"}},
            autocommit=True,
        ) as listening:
            listening.execute(f"LISTEN {CHANNEL}")
            while not self._stopping.is_set():
                for notice in listening.notifies(timeout=PAUSE):
                    yield notice.payload
