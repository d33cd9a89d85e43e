"""Who somebody is at a payment provider. Written by ledger alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.models.payment_account import PaymentAccount


class Customer(models.Model):
    """``ref`` is the provider's own id, so that methods they saved are there when they pay again."""

    account = models.ForeignKey(PaymentAccount, models.CASCADE)
    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    ref = models.CharField(max_length=255)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "iss", "sub"], name="one_customer_per_person")]

    def __str__(self) -> str:
        return self.ref
