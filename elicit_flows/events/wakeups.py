"""Wake-ups: hints, after a commit, that an agent's feed has a new event. A lost hint costs a second, never an event.

Within a process a wake-up is a function call. Between processes it is a Redis message or, without Redis, a PostgreSQL
NOTIFY, which events/publish.py sends with the event. The receiver reads the database.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable

from django.conf import settings

from elicit_flows.job_table import DELIVER, Job
from elicit_flows.lib import shared_redis

log = logging.getLogger(__name__)
CHANNEL = "elicit_feed"
_QUIET_SECONDS = 5.0

# Identifies this process in its messages, so that it ignores them: it has called its own listeners already.
HERE = secrets.token_hex(8)


def _name_anew() -> None:
    """A forked child needs its own name: with the parent's it would ignore the parent's messages."""
    global HERE  # noqa: PLW0603
    HERE = secrets.token_hex(8)


os.register_at_fork(after_in_child=_name_anew)

# The functions to call in this process: those of the event streams, of the embedded worker and of the Celery hints.
feed_listeners: list[Callable[[int], None]] = []
work_listeners: list[Callable[[Job], None]] = []

_quiet_until = 0.0


def wake(agent_id: int, work: bool) -> None:
    """Tell this process and the others that the agent's feed has a new event. ``work``: it has a webhook delivery.

    Never raises, because the event is already committed.
    """
    for listener in feed_listeners:
        listener(agent_id)
    if settings.REDIS_URL:
        try_redis(lambda: shared_redis.client().publish(CHANNEL, message(agent_id)))
    if work:
        wake_workers(DELIVER)


def message(agent_id: int) -> str:
    """The text of a message: the agent whose feed has a new event, and the process that sends it."""
    return f"{agent_id} {HERE}"


def read_message(message: str) -> tuple[int, bool]:
    """The agent whose feed has a new event, and whether another process sent the message."""
    agent_id, _, rung_at = message.partition(" ")
    return int(agent_id), rung_at != HERE


def wake_workers(job: Job) -> None:
    """Tell the workers that there is something to do."""
    for listener in work_listeners:
        listener(job)


def try_redis(call: Callable[[], object]) -> None:
    """Make a ``call`` to Redis. After a failure, make none for five seconds, so that no request waits for it twice."""
    global _quiet_until  # noqa: PLW0603
    if time.monotonic() < _quiet_until:
        return
    try:
        call()
    except shared_redis.errors() as error:
        _quiet_until = time.monotonic() + _QUIET_SECONDS
        log.warning("no wake-ups for %d s (%s): readers find the event when they poll", _QUIET_SECONDS, error)
