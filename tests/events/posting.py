"""An agent with a webhook, events for it, and the worker's rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from elicit_flows import events
from elicit_flows.models import Agent, Delivery, Event
from tests.support import jobs, rows, sink
from tests.support.rows import Known
from tests.support.sink import Sink


@dataclass(frozen=True)
class Hooked:
    """An agent whose webhook is the receiver's ``path``."""

    known: Known
    receiver: Sink
    path: str

    @classmethod
    def new(cls, receiver: Sink) -> Hooked:
        known = rows.agent()
        path = f"/{known.row.slug}"
        Agent.objects.filter(pk=known.row.pk).update(webhook_url=receiver.url(path))
        return cls(known, receiver, path)

    @property
    def row(self) -> Agent:
        return Agent.objects.get(pk=self.known.row.pk)

    @property
    def secret(self) -> str:
        return self.known.who.webhook_secret

    def tell(self, **data: Any) -> Event:
        """Something happened that the agent wants to know."""
        with transaction.atomic():
            return events.publish(self.row, "connection.refreshed", data)

    def received(self) -> list[sink.Delivery]:
        return self.receiver.received(self.path)

    def on_its_way(self, event: Event) -> Delivery:
        return Delivery.objects.get(agent=self.known.row, event=event)


def deliver() -> None:
    """What is due, as a Celery task or a round of the embedded worker delivers it."""
    jobs.deliver()
