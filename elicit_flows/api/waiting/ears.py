"""Hearing the bells that other processes ring: Redis where there is one, else PostgreSQL's LISTEN.

While nobody waits in this process it does not listen: every event of every agent would wake it for nothing. An ear
that loses its connection tries again; what it did not hear meanwhile, the hub finds by looking.
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

from elicit_flows.api.waiting.hub import Hub
from elicit_flows.queue import bell

log = logging.getLogger(__name__)
PAUSE = 1.0


class Ears:
    """One listening thread, or none where one process is all there is."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def start(self, hub: Hub) -> None:
        """Ring ``hub`` for each bell of another process."""
        if settings.REDIS_URL:
            source = self._redis
        elif connection.vendor == "postgresql":
            source = self._postgresql
        else:
            return
        threading.Thread(target=self._listen, args=(source, hub), name="ears", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _listen(self, source: Callable[[Hub], Iterator[str]], hub: Hub) -> None:
        while not self._stopping.is_set():
            if not hub.attended.wait(PAUSE):
                continue
            try:
                for message in source(hub):
                    agent_id, from_elsewhere = bell.heard(message)
                    if from_elsewhere:
                        hub.ring(agent_id)
            except (RedisError, OSError, psycopg.Error) as error:
                log.warning("the bell is not heard (%s); listening again", type(error).__name__)
                self._stopping.wait(PAUSE)

    def _goes_on(self, hub: Hub) -> bool:
        return hub.attended.is_set() and not self._stopping.is_set()

    def _redis(self, hub: Hub) -> Iterator[str]:
        with closing(get_redis_connection("default").pubsub()) as pubsub:
            pubsub.subscribe(bell.CHANNEL)
            while self._goes_on(hub):
                message = pubsub.get_message(timeout=PAUSE)
                if message and message["type"] == "subscribe":
                    hub.look()  # for what was rung before anybody listened
                elif message:
                    yield message["data"].decode()

    def _postgresql(self, hub: Hub) -> Iterator[str]:
        parameters = connection.get_connection_params()
        with psycopg.connect(
            **{key: value for key, value in parameters.items() if key not in {"cursor_factory", "context"}},
            autocommit=True,
        ) as listening:
            listening.execute(f"LISTEN {bell.CHANNEL}")
            hub.look()  # for what was rung before anybody listened
            while self._goes_on(hub):
                for notice in listening.notifies(timeout=PAUSE):
                    yield notice.payload
