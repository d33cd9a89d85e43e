"""Wakes a worker in another process, if a broker is set instead of the embedded worker.

A hint is a Celery task without arguments in the job's own queue. A Celery worker, ``manage.py work`` or a server with
``--jobs`` takes it and wakes the job (``hint_listener``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from kombu.exceptions import OperationalError
from kombu.transport import redis

from elicit_flows.events import wakeups
from elicit_flows.job_table import Job
from elicit_flows.jobs.tasks import TASKS


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


def _publish(job: Job) -> None:
    task = TASKS[job.name]
    try:
        with task.app.producer_pool.acquire(block=True) as producer:
            if not waits(producer.channel, job.name):
                task.apply_async(retry=False, producer=producer)
    except OperationalError as error:
        raise ConnectionError(str(error)) from error
