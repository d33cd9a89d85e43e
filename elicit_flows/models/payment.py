"""What one elicitation is to bring in, and each page at the provider where it may be paid. Written by ledger alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.kinds.payment.values import State
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.payment_account import PaymentAccount
from elicit_flows.values import Claim, Json


def new_id() -> str:
    return ids.name("pa")


def new_checkout_id() -> str:
    return ids.name("co")


class Payment(models.Model):
    """Outlives its elicitation, which the purge takes. ``amount`` and ``refunded`` are in minor units."""

    class Status(models.TextChoices):
        OPEN = "open"
        PROCESSING = "processing"  # a delayed method is on its way
        PAID = "paid"
        SAVED = "saved"
        ACTIVE = "active"
        ENDED = "ended"  # a subscription that was active
        MISMATCH = "mismatch"  # money came, but not as it was asked for: somebody has to look
        CLOSED = "closed"  # nothing came and nothing will

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.PROTECT)
    account = models.ForeignKey(PaymentAccount, models.PROTECT)
    elicitation = models.OneToOneField(Elicitation, models.SET_NULL, null=True, related_name="payment")
    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    mode = models.CharField(max_length=16)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    description = models.CharField(max_length=500)
    item = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.OPEN)
    refunded = models.BigIntegerField(default=0)
    disputed = models.CharField(max_length=8, blank=True)  # "", open, won, lost
    payment_ref = models.CharField(max_length=255, blank=True)
    receipt_url = models.CharField(max_length=2000, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=now)
    paid_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["iss", "sub", "agent"], name="payment_owner"),
            models.Index(fields=["account", "payment_ref"], name="payment_ref"),
            # an operator who looks for one person
            models.Index(fields=["sub"], name="payment_person"),
            # what an operator should look at
            models.Index(fields=["status", "created_at"], name="payment_status"),
            models.Index(fields=["disputed"], name="payment_disputed"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    def summary(self) -> Json:
        """The payment as the API says it. ``status`` is "refunded" once everything was given back."""
        whole = self.status == self.Status.PAID and 0 < self.amount <= self.refunded
        return {
            "id": self.id,
            "object": "payment",
            "elicitation": self.elicitation.head.pk if self.elicitation else None,
            "subject": {"iss": self.iss, "sub": self.sub},
            "mode": self.mode,
            "amount": self.amount,
            "currency": self.currency,
            "description": self.description,
            "item": self.item or None,
            "status": "refunded" if whole else str(self.status),
            "amount_refunded": self.refunded,
            "dispute": self.disputed or None,
            "receipt_url": self.receipt_url or None,
            "created_at": rfc3339(self.created_at),
            "paid_at": rfc3339(self.paid_at),
        }


class Checkout(models.Model):
    """One page at the provider. Its id is the idempotency key's base, and the only thing the provider is told of us.

    ``url`` is sealed: whoever has it can pay. ``key_number`` counts the answers that the provider keeps under a key and
    that were of no use (see providers.base.Unclear).
    """

    class Status(models.TextChoices):
        STARTING = "starting"  # written down before the provider is asked; nobody has seen a page
        OPEN = State.OPEN.value
        PROCESSING = State.PROCESSING.value
        PAID = "paid"  # of whatever mode
        OVER = "over"  # can bring no money any more

    id = models.CharField(max_length=64, primary_key=True, default=new_checkout_id)
    payment = models.ForeignKey(Payment, models.CASCADE, related_name="checkouts")
    account = models.ForeignKey(PaymentAccount, models.PROTECT)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.STARTING)
    ref = models.CharField(max_length=255, null=True)
    url = models.TextField(blank=True, editable=False)
    key_number = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()
    look_at = models.DateTimeField(null=True)  # when the sweep asks the provider again

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "ref"], name="one_checkout_per_ref"),
            # a second page for one payment only when the first can bring no money any more
            models.UniqueConstraint(
                fields=["payment"],
                condition=models.Q(status__in=["starting", "open", "processing"]),
                name="one_payable_checkout",
            ),
        ]
        indexes = [
            models.Index(fields=["look_at"], name="checkout_look", condition=models.Q(look_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id
