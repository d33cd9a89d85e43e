"""Telling a Celery worker that there is work: where a broker is set, instead of the embedded worker."""

from __future__ import annotations

from functools import partial

from kombu.exceptions import OperationalError

from elicit_flows.queue import bell
from elicit_flows.tasks import deliver, tick

TASKS = {bell.Work.DELIVER: deliver, bell.Work.SWEEP: tick}


def hint_celery(work: bell.Work) -> None:
    """Publish the task; a broker that is away is forgotten for a while, beat finds the rows."""
    bell.hint(partial(_publish, work))


def _publish(work: bell.Work) -> None:
    try:
        TASKS[work].apply_async(retry=False, expires=60)
    except OperationalError as error:
        raise ConnectionError(str(error)) from error
