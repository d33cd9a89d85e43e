"""The tasks of a Celery worker: the same jobs as in the embedded worker, each with its own queue and task.

A task wakes its job and ends without waiting for it. So the tasks of one queue take no slot from those of another,
however many there are and whatever hangs, and several tasks for one job have the effect of one.
"""

from __future__ import annotations

from typing import Any

from celery import shared_task

from elicit_flows.job_table import JOBS, Job
from elicit_flows.jobs import worker

THREADS = worker.threads()


def _task(job: Job) -> Any:
    @shared_task(name=job.task)
    def wake() -> None:
        THREADS[job.name].wake()

    return wake


TASKS = {job.name: _task(job) for job in JOBS}
