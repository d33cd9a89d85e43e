"""The bell: a hint, after a commit, that an agent's feed moved. Losing it costs a second, never an event.

In one process it is a function call; between processes it is Redis, or where there is none PostgreSQL's NOTIFY,
which queue/publish.py sends with the event. Whoever hears it reads the database.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from enum import Enum

from django.conf import settings
from django_redis import get_redis_connection
from redis.exceptions import RedisError


class Work(Enum):
    DELIVER = "deliver"
    SWEEP = "sweep"  # what time makes due, and upstream revocations


log = logging.getLogger(__name__)
CHANNEL = "elicit_feed"
_QUIET_SECONDS = 5.0

# Names this process in what it rings: it has told itself already, and sooner.
HERE = secrets.token_hex(8)

# Who wants to know in this process: the waiting hub, the embedded worker, Celery's hint.
feed_listeners: list[Callable[[int], None]] = []
work_listeners: list[Callable[[Work], None]] = []

_quiet_until = 0.0


def ring(agent_id: int, work: bool) -> None:
    """Tell this process and the others. Never raises: the event is already committed."""
    for listener in feed_listeners:
        listener(agent_id)
    if settings.REDIS_URL:
        hint(lambda: get_redis_connection("default").publish(CHANNEL, message(agent_id)))
    if work:
        ring_workers(Work.DELIVER)


def message(agent_id: int) -> str:
    """What goes over the wire: whose feed moved, and which process knows of it."""
    return f"{agent_id} {HERE}"


def heard(message: str) -> tuple[int, bool]:
    """Whose feed moved, and whether it was another process that said so."""
    agent_id, _, rung_at = message.partition(" ")
    return int(agent_id), rung_at != HERE


def ring_workers(work: Work) -> None:
    """There is something to do that nobody waits for."""
    for listener in work_listeners:
        listener(work)


def hint(call: Callable[[], object]) -> None:
    """Try ``call`` against Redis; after a failure try none for five seconds, so that no request waits for it twice."""
    global _quiet_until  # noqa: PLW0603
    if time.monotonic() < _quiet_until:
        return
    try:
        call()
    except (RedisError, OSError) as error:
        _quiet_until = time.monotonic() + _QUIET_SECONDS
        log.warning("no bell for %d s (%s): readers find the event when they poll", _QUIET_SECONDS, error)
