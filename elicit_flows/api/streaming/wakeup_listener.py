"""Listens for wake-ups from other processes: over Redis if there is one, or else with PostgreSQL's LISTEN.

It does not listen while nobody waits in this process, because every event of every agent would wake it for nothing. If
it loses its connection, it reconnects; the broker's polls find what was missed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from elicit_flows.api.streaming.broker import Broker
from elicit_flows.events import wakeups
from elicit_flows.lib import shared_redis

log = logging.getLogger(__name__)
# Of the parameters of Django's connections.
NOT_FOR_LISTENING = {"cursor_factory", "context", "prepare_threshold"}
PAUSE = 1.0


class WakeupListener:
    """One listening thread; none if there is only one process."""

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def start(self, hub: Broker) -> None:
        """Wake ``hub`` for each wake-up from another process."""
        if settings.REDIS_URL:
            source = self._redis
        elif connection.vendor == "postgresql":
            source = self._postgresql
        else:
            return
        threading.Thread(target=self._listen, args=(source, hub), name="wake-ups", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _listen(self, source: Callable[[Broker], Iterator[str]], hub: Broker) -> None:
        while not self._stopping.is_set():
            if not hub.attended.wait(PAUSE):
                continue
            try:
                for message in source(hub):
                    agent_id, from_elsewhere = wakeups.read_message(message)
                    if from_elsewhere:
                        hub.ring(agent_id)
            except shared_redis.errors(DatabaseError) as error:
                log.warning("no wake-ups arrive (%s); listening again", type(error).__name__)
                self._stopping.wait(PAUSE)

    def _goes_on(self, hub: Broker) -> bool:
        return hub.attended.is_set() and not self._stopping.is_set()

    def _redis(self, hub: Broker) -> Iterator[str]:
        with closing(shared_redis.client().pubsub()) as pubsub:
            pubsub.subscribe(wakeups.CHANNEL)
            while self._goes_on(hub):
                message = pubsub.get_message(timeout=PAUSE)
                if message and message["type"] == "subscribe":
                    hub.look()  # find events from before the subscription
                elif message:
                    yield message["data"].decode()

    def _postgresql(self, hub: Broker) -> Iterator[str]:
        parameters = connection.get_connection_params()
        wrapper: Any = connection  # its Database is psycopg, which takes long to import where SQLite is used
        with (
            connection.wrap_database_errors,
            wrapper.Database.connect(
                **{key: value for key, value in parameters.items() if key not in NOT_FOR_LISTENING},
                autocommit=True,
            ) as listening,
        ):
            listening.execute(f"LISTEN {wakeups.CHANNEL}")
            hub.look()  # find events from before the subscription
            while self._goes_on(hub):
                for notice in listening.notifies(timeout=PAUSE):
                    yield notice.payload
