"""Money on its way back, whoever sent it. Written by ledger alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.payment import Payment
from elicit_flows.values import Json


def new_id() -> str:
    return ids.name("re")


class Refund(models.Model):
    """``amount`` is in minor units. Its id is the idempotency key's base."""

    class Status(models.TextChoices):
        ASKED = "asked"  # written down; the provider may or may not know
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    class By(models.TextChoices):
        AGENT = "agent"
        OPERATOR = "operator"
        PROVIDER = "provider"  # at the provider's own dashboard
        POLICY = "policy"  # money that came too late, twice, or not as asked

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    payment = models.ForeignKey(Payment, models.CASCADE, related_name="refunds")
    payment_ref = models.CharField(max_length=255)
    amount = models.BigIntegerField()
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ASKED)
    by = models.CharField(max_length=16, choices=By.choices)
    reason = models.CharField(max_length=500, blank=True)
    ref = models.CharField(max_length=255, null=True)
    idempotency_key = models.CharField(max_length=255, null=True)
    key_number = models.PositiveIntegerField(default=1)
    tries = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    done_at = models.DateTimeField(null=True)
    try_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["payment", "ref"], name="one_refund_per_ref"),
            models.UniqueConstraint(fields=["payment", "idempotency_key"], name="one_refund_per_idempotency_key"),
        ]
        indexes = [
            models.Index(fields=["try_at"], name="refund_due", condition=models.Q(try_at__isnull=False)),
            models.Index(fields=["status"], name="refund_status"),
        ]

    def __str__(self) -> str:
        return self.id

    def summary(self) -> Json:
        """The refund as the API says it."""
        return {
            "id": self.id,
            "object": "refund",
            "payment": self.payment_id,
            "amount": self.amount,
            "currency": self.payment.currency,
            "status": "pending" if self.status == self.Status.ASKED else str(self.status),
            "by": str(self.by),
            "reason": self.reason or None,
            "created_at": rfc3339(self.created_at),
            "done_at": rfc3339(self.done_at),
        }
