"""What happened. One table is audit log, outbox and feed at once.

``position`` counts an agent's events without gaps: it is taken from the agent's Feed row under its lock, so numbers
become visible in order and a reader that has seen N has seen everything up to N.
"""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.values import Json


def new_id() -> str:
    return ids.name("ev")


class Feed(models.Model):
    """The position of the agent's last event."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True)
    position = models.PositiveBigIntegerField(default=0)


class Event(models.Model):
    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.CASCADE, db_index=False)
    position = models.PositiveBigIntegerField()
    type = models.CharField(max_length=64)
    elicitation = models.ForeignKey(Elicitation, models.SET_NULL, null=True)
    seq = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=now)
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "position"], name="one_event_per_position")]
        indexes = [models.Index(fields=["created_at"], name="event_purge")]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    def body(self) -> Json:
        """The event as feeds, streams and webhooks say it (contract, section 4)."""
        return {
            "id": self.id,
            "type": self.type,
            "elicitation": self.elicitation_id,
            "seq": self.seq,
            "created_at": rfc3339(self.created_at),
            "data": self.data,
        }
