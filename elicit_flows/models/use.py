"""What became of a connection, and what its agent did with it, hour by hour. Written by the vault alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.connection import Connection
from elicit_flows.values import Json


class Use(models.Model):
    """``count`` times ``action`` within the hour that begins at ``hour``. Fetches count once a minute at most: so
    their ``count`` is the number of minutes with one (docs/account.md).
    """

    class Action(models.TextChoices):
        CONNECTED = "connected"  # or connected again
        FETCHED = "fetched"  # an access token
        OPENED = "opened"  # credentials that the user typed
        REFRESHED = "refreshed"
        REPORTED = "reported"  # as refused by the provider
        LAPSED = "lapsed"  # the provider ended the grant
        REVOKED = "revoked"

    class Actor(models.TextChoices):
        AGENT = "agent"
        PERSON = "person"
        OPERATOR = "operator"
        PROVIDER = "provider"
        SERVICE = "service"

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="uses", db_index=False)
    action = models.CharField(max_length=16, choices=Action.choices)
    actor = models.CharField(max_length=16, choices=Actor.choices)
    hour = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField(default=now)
    last_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["connection", "hour", "action", "actor"], name="one_use_per_hour"),
        ]
        indexes = [models.Index(fields=["last_at"], name="use_purge")]

    def __str__(self) -> str:
        return f"{self.action} {self.connection_id}"

    def said(self) -> Json:
        """As a person's export says it."""
        return {
            "action": str(self.action),
            "by": str(self.actor),
            "count": self.count,
            "first_at": rfc3339(self.first_at),
            "last_at": rfc3339(self.last_at),
        }
