"""An event on its way to an agent's webhook. Claimed by lease and fence, marked after it was sent."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now
from elicit_flows.models.agent import Agent
from elicit_flows.models.event import Event


def new_id() -> str:
    return ids.name("dl")


class Delivery(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"  # given up after the whole schedule: visible, and may be replayed

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.CASCADE)
    event = models.ForeignKey(Event, models.CASCADE)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    tries = models.PositiveIntegerField(default=0)
    log = models.JSONField(default=list, help_text="One entry a try: when, how long, what was answered.")
    created_at = models.DateTimeField(default=now)
    next_at = models.DateTimeField(default=now)
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    trace = models.CharField(max_length=55, blank=True, default="", db_default="", editable=False)  # W3C traceparent

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            # the worker's claim: what is due, oldest first; finished rows cost it nothing
            models.Index(fields=["next_at"], name="delivery_due", condition=models.Q(status="pending")),
            models.Index(fields=["agent", "status", "-created_at"], name="delivery_list"),
        ]

    def __str__(self) -> str:
        return self.id
