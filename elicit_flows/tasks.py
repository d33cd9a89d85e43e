"""What a Celery worker does: the same rounds as the embedded worker."""

from __future__ import annotations

from celery import shared_task

from elicit_flows import tallies, worker
from elicit_flows.purge import purge as purge_now

DELIVERY_SECONDS = 30.0


@shared_task
def deliver() -> None:
    """A hint that something is due."""
    worker.deliver_until_idle(DELIVERY_SECONDS)
    tallies.keep_if_possible()


@shared_task
def tick() -> None:
    """From beat: sweep, and deliver what no hint announced."""
    worker.tick()
    worker.deliver_until_idle(DELIVERY_SECONDS)
    tallies.keep_if_possible()


@shared_task
def refresh() -> None:
    """From beat, by itself: a provider that takes its time holds up no sweep."""
    worker.refresh(worker.REFRESH_SECONDS)
    tallies.keep_if_possible()


@shared_task
def poll() -> None:
    """From beat, by itself: every few seconds, as providers say."""
    worker.poll()


@shared_task
def purge() -> None:
    purge_now()
