"""Takes the hints that ``celery_hints`` publishes, in a process that runs jobs without Celery."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from django.conf import settings

from elicit_flows.jobs.worker import JobThread
from elicit_flows.lib import shared_redis

log = logging.getLogger(__name__)
WAIT = 1  # seconds for the next hint


def follow_in_thread(jobs: Mapping[str, JobThread], stopping: threading.Event) -> None:
    """Take the hints for ``jobs`` and wake them, until ``stopping`` is set.

    Hints come only from Redis. Without it the jobs still look for due rows every few seconds.
    """
    url = str(settings.CELERY_BROKER_URL or "")
    if url.startswith(("redis://", "rediss://")):
        threading.Thread(target=_follow, args=(url, jobs, stopping), name="hints", daemon=True).start()


def _follow(url: str, jobs: Mapping[str, JobThread], stopping: threading.Event) -> None:
    heard = True
    with shared_redis.client_of(url, socket_connect_timeout=1, socket_timeout=WAIT + 5) as client:
        while not stopping.is_set():
            try:
                # Its content is ignored: anybody who reaches the broker may have written it. Looking for due rows is
                # harmless.
                taken = client.brpop(list(jobs), timeout=WAIT)
            except shared_redis.errors() as error:
                if heard:
                    log.warning("no hints (%s): the jobs look for themselves every few seconds", error)
                heard = False
                stopping.wait(WAIT)
                continue
            heard = True
            if taken:
                jobs[taken[0].decode()].wake()
