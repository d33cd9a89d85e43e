"""A payment provider's webhook, as it came: kept before it is answered, done after its effect is committed."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib.clock import now
from elicit_flows.models.payment_account import PaymentAccount


class Inbound(models.Model):
    """A hint where to look. What it says about money is not kept: the provider is asked."""

    account = models.ForeignKey(PaymentAccount, models.CASCADE)
    event_id = models.CharField(max_length=255)
    type = models.CharField(max_length=100)
    ref = models.CharField(max_length=255, blank=True)
    payment_ref = models.CharField(max_length=255, blank=True)
    received_at = models.DateTimeField(default=now)
    done_at = models.DateTimeField(null=True)
    try_at = models.DateTimeField(null=True, default=now)
    tries = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "event_id"], name="one_inbound_per_event")]
        indexes = [
            models.Index(fields=["try_at"], name="inbound_due", condition=models.Q(try_at__isnull=False)),
            models.Index(fields=["received_at"], name="inbound_purge"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"
