"""Telling a Celery worker that there is work: where a broker is set, instead of the embedded worker."""

from __future__ import annotations

from kombu.exceptions import OperationalError

from elicit_flows.queue import bell
from elicit_flows.tasks import deliver


def hint_celery() -> None:
    """Publish ``deliver``; a broker that is away is forgotten for a while, beat finds the rows."""
    bell.hint(_publish)


def _publish() -> None:
    try:
        deliver.apply_async(retry=False, expires=60)
    except OperationalError as error:
        raise ConnectionError(str(error)) from error
