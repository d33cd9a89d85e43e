"""Wakes a worker in another process, if a broker is set instead of the embedded worker.

A hint is a Celery task without arguments in the job's own queue. A Celery worker, ``manage.py work`` or a server with
``--jobs`` takes it and wakes the job.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.conf import settings
from kombu.exceptions import OperationalError
from kombu.transport import redis
from redis import Redis
from redis.exceptions import RedisError

from elicit_flows.events import wakeups
from elicit_flows.job_table import Job
from elicit_flows.jobs.tasks import TASKS
from elicit_flows.jobs.worker import JobThread

log = logging.getLogger(__name__)
WAIT = 1  # seconds for the next hint


def hint_celery(job: Job) -> None:
    """Publish the job's task. If the broker fails, nothing is published for a while; beat and the jobs look for
    themselves.
    """
    wakeups.try_redis(partial(_publish, job))


def queue_of(task: str) -> str:
    return str(settings.CELERY_TASK_ROUTES[task]["queue"])


def waits(channel: Any, queue: str) -> bool:
    """Whether the queue already has a task, so that another is not needed. RabbitMQ limits the length of the queue
    itself.
    """
    if not isinstance(channel, redis.Channel):
        return False
    with channel.conn_or_acquire() as client:
        return bool(client.llen(queue))


def follow_in_thread(jobs: Mapping[str, JobThread], stopping: threading.Event) -> None:
    threading.Thread(target=follow, args=(jobs, stopping), name="hints", daemon=True).start()


def follow(jobs: Mapping[str, JobThread], stopping: threading.Event) -> None:
    """Take the hints for ``jobs`` and wake them, until ``stopping`` is set.

    Hints come only from Redis. Without it the jobs still look for due rows every few seconds.
    """
    url, heard = str(settings.CELERY_BROKER_URL or ""), True
    if not url.startswith(("redis://", "rediss://")):
        return
    with Redis.from_url(url, socket_connect_timeout=1, socket_timeout=WAIT + 5) as client:
        while not stopping.is_set():
            try:
                # Its content is ignored: anybody who reaches the broker may have written it. Looking for due rows is
                # harmless.
                taken = client.brpop(list(jobs), timeout=WAIT)
            except (RedisError, OSError) as error:
                if heard:
                    log.warning("no hints (%s): the jobs look for themselves every few seconds", error)
                heard = False
                stopping.wait(WAIT)
                continue
            heard = True
            if taken:
                jobs[taken[0].decode()].wake()


def _publish(job: Job) -> None:
    task = TASKS[job.name]
    try:
        with task.app.producer_pool.acquire(block=True) as producer:
            if not waits(producer.channel, job.name):
                task.apply_async(retry=False, producer=producer)
    except OperationalError as error:
        raise ConnectionError(str(error)) from error
