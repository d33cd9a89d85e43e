"""Events: one table is the audit log, the outbox and the feed.

``position`` counts an agent's events without gaps. It is taken from the agent's Feed row under its lock, so numbers
become visible in order, and a reader that has seen N has seen everything up to N.
"""

from __future__ import annotations

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.values import Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation


class Feed(models.Model):
    """The position of the agent's last event."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True)
    position = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = _("feed")
        verbose_name_plural = _("feeds")


class Event(models.Model):
    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "ev"))
    agent = models.ForeignKey(Agent, models.CASCADE, verbose_name=_("agent"), db_index=False)
    position = models.PositiveBigIntegerField(_("position in the feed"))
    type = models.CharField(_("type"), max_length=64)
    elicitation = models.ForeignKey(Elicitation, models.SET_NULL, verbose_name=_("elicitation"), null=True)
    seq = models.PositiveIntegerField(_("number of the elicitation's change"), null=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    data = models.JSONField()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [models.UniqueConstraint(fields=["agent", "position"], name="one_event_per_position")]
        indexes = [models.Index(fields=["created_at"], name="event_purge")]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    def body(self) -> Json:
        """The event as feeds, streams and webhooks contain it."""
        return {
            "id": self.id,
            "type": self.type,
            "elicitation": self.elicitation_id,
            "seq": self.seq,
            "created_at": rfc3339(self.created_at),
            "data": self.data,
        }


class Delivery(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending", pgettext_lazy("status", "Pending")
        DELIVERED = "delivered", pgettext_lazy("status", "Delivered")
        FAILED = "failed", pgettext_lazy("status", "Failed")  # given up after the last attempt; it can be replayed

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "dl"))
    agent = models.ForeignKey(Agent, models.CASCADE, verbose_name=_("agent"), db_index=False)  # the lists begin with it
    event = models.ForeignKey(Event, models.CASCADE, verbose_name=_("event"))
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.PENDING)
    tries = models.PositiveIntegerField(_("tries"), default=0)
    log = models.JSONField(
        _("log"), default=list, help_text=_("One entry for each try: its time, its duration and the answer.")
    )
    created_at = models.DateTimeField(_("created at"), default=now)
    next_at = models.DateTimeField(_("next try at"), default=now)
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    delivered_at = models.DateTimeField(_("delivered at"), null=True)
    trace = models.CharField(max_length=55, blank=True, default="", db_default="", editable=False)  # W3C traceparent

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        indexes = [
            # the worker's claim: what is due of each agent, oldest first; finished rows cost it nothing
            models.Index(fields=["agent", "next_at"], name="delivery_due", condition=models.Q(status="pending")),
            # what an operator should look at
            models.Index(fields=["agent"], name="delivery_failed", condition=models.Q(status="failed")),
            # the agent's lists, newest first; the purge begins at the other end of the first
            models.Index(fields=["agent", "-created_at", "-id"], name="delivery_list"),
            models.Index(fields=["agent", "status", "-created_at", "-id"], name="delivery_status"),
        ]

    def __str__(self) -> str:
        return self.id


class AuditPosition(models.Model):
    """How far the audit log has been shipped: everything of ``source`` up to ``position``.

    ``source`` is "admin", or "agent:" and the agent's number.

    ``lease_until``: one process at a time ships a source.
    """

    source = models.CharField(max_length=64, primary_key=True)
    position = models.PositiveBigIntegerField(default=0)
    lease_until = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("position of the audit log")
        verbose_name_plural = _("positions of the audit log")

    def __str__(self) -> str:
        return f"{self.source} {self.position}"
