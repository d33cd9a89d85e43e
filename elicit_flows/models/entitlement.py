"""What somebody may use because it was paid for. Written by ledger alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.payment import Payment
from elicit_flows.values import Json


def new_id() -> str:
    return ids.name("en")


class Entitlement(models.Model):
    """``uses_left`` None: as often as one likes; ``valid_until`` None: for ever."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"  # disputed
        REVOKED = "revoked"  # refunded, or a dispute lost
        ENDED = "ended"  # a subscription that ended

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.PROTECT)
    payment = models.OneToOneField(Payment, models.CASCADE, related_name="entitlement")
    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    item = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)
    uses_left = models.PositiveIntegerField(null=True)
    valid_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes = [models.Index(fields=["agent", "iss", "sub", "item"], name="entitlement_owner")]

    def __str__(self) -> str:
        return self.id

    @property
    def usable(self) -> bool:
        lasting = self.valid_until is None or self.valid_until > now()
        return self.status == self.Status.ACTIVE and self.uses_left != 0 and lasting

    def summary(self) -> Json:
        """The entitlement as the API says it."""
        return {
            "id": self.id,
            "object": "entitlement",
            "subject": {"iss": self.iss, "sub": self.sub},
            "item": self.item,
            "payment": self.payment_id,
            "status": str(self.status),
            "usable": self.usable,
            "uses_left": self.uses_left,
            "valid_until": rfc3339(self.valid_until),
            "created_at": rfc3339(self.created_at),
        }


class EntitlementUse(models.Model):
    """One use, by the agent's own key: told twice, it counts once."""

    entitlement = models.ForeignKey(Entitlement, models.CASCADE)
    key = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entitlement", "key"], name="one_use_per_key")]
