"""One question to one person. Its status is written by flow.py alone."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.states import ACTION, TERMINAL, Status
from elicit_flows.values import Claim, Json


def new_id() -> str:
    return ids.name("el")


# Who looks for open ones among many that are over says it like this, and not by the status: SQLite uses such an index
# only for the very words that it was made with.
UNFINISHED = models.Q(finished_at=None)


class Elicitation(models.Model):
    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.CASCADE)
    # A step of another, which is the one that the agent knows; its steps are done in the order of their places.
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="steps", db_index=False)
    place = models.PositiveSmallIntegerField(db_default=0)
    kind = models.CharField(max_length=32)
    status = models.CharField(max_length=16, default=Status.PENDING)
    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    message = models.TextField()
    params = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    error = models.JSONField(null=True)
    metadata = models.JSONField(default=dict)
    return_url = models.CharField(max_length=2000, null=True)
    reused = models.BooleanField(default=False)
    seq = models.PositiveIntegerField(default=1)
    idempotency_key = models.CharField(max_length=255, null=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()
    settling_since = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    consumed_at = models.DateTimeField(null=True)
    consumed_by = models.CharField(max_length=255, null=True)
    note = models.TextField(default="", db_default="")  # the agent's own, sealed
    trace = models.CharField(max_length=55, blank=True, default="", db_default="", editable=False)  # W3C traceparent

    class Meta:
        permissions = [
            ("see_people", "Can see who the people are and what they were told"),
            ("export_rows", "Can take rows away as a file"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["agent", "idempotency_key"], name="one_elicitation_per_idempotency_key"),
        ]
        indexes = [
            # the agent's list, newest first
            models.Index(fields=["agent", "-created_at", "-id"], name="elicitation_list"),
            # "what needs me", and the cap on open questions to one person
            models.Index(fields=["iss", "sub", "agent"], name="elicitation_open", condition=UNFINISHED),
            # the sweeper: what is open and overdue
            models.Index(fields=["expires_at"], name="elicitation_overdue", condition=UNFINISHED),
            models.Index(
                fields=["parent", "place"], name="elicitation_steps", condition=models.Q(parent__isnull=False)
            ),
            # an operator who looks for one person, over or not
            models.Index(fields=["sub", "-created_at"], name="elicitation_person"),
            # the purge: what is over, oldest first
            models.Index(fields=["finished_at"], name="elicitation_purge"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def head(self) -> Elicitation:
        """The elicitation that the agent and the link name: itself, or what this is a step of."""
        return self.parent or self

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    @property
    def overdue(self) -> bool:
        """The time is up and nobody is on the way: settling is left to come to its end."""
        return self.status in (Status.PENDING, Status.STARTED) and self.expires_at <= now()

    @property
    def url(self) -> str:
        return f"{settings.ELICIT_PUBLIC_URL}/c/{self.id}"

    def snapshot(self) -> Json:
        """The elicitation as the API says it (contract, section 4)."""
        return {
            "id": self.id,
            "object": "elicitation",
            "kind": self.kind,
            "status": str(self.status),
            "action": ACTION.get(Status(self.status)),
            "url": self.url,
            "message": self.message,
            "subject": {"iss": self.iss, "sub": self.sub},
            "params": self.params,
            "result": self.result,
            "error": self.error,
            "reused": self.reused,
            "seq": self.seq,
            "created_at": rfc3339(self.created_at),
            "expires_at": rfc3339(self.expires_at),
            "finished_at": rfc3339(self.finished_at),
            "consumed_at": rfc3339(self.consumed_at),
            "return_url": self.return_url,
            "metadata": self.metadata,
        }
