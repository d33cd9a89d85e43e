"""What a person may use because they paid for it. Written by ``payments`` only."""

from __future__ import annotations

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.payment import Payment


class Entitlement(models.Model):
    """``uses_left`` None: without limit; ``valid_until`` None: without end."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUSPENDED = "suspended"  # disputed
        REVOKED = "revoked"  # refunded, or a dispute lost
        ENDED = "ended"  # a subscription that ended

    id = models.CharField(max_length=64, primary_key=True, default=partial(ids.name, "en"))
    agent = models.ForeignKey(Agent, models.PROTECT, db_index=False)  # the list begins with it
    payment = models.OneToOneField(Payment, models.CASCADE, related_name="entitlement")
    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    item = models.CharField(max_length=200)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)
    uses_left = models.PositiveIntegerField(null=True)
    valid_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("entitlement")
        verbose_name_plural = _("entitlements")
        indexes = [
            models.Index(fields=["agent", "iss", "sub", "item"], name="entitlement_owner"),
            # the agent's list, newest first, and by its filters
            models.Index(fields=["agent", "-created_at", "-id"], name="entitlement_list"),
            models.Index(fields=["agent", "item", "-created_at", "-id"], name="entitlement_list_item"),
            models.Index(fields=["agent", "sub"], name="entitlement_person"),
        ]

    def __str__(self) -> str:
        return self.id

    def usable(self, *, live_only: bool) -> bool:
        """``live_only``: the agent takes real money, so what was paid for in test mode cannot be used."""
        lasting = self.valid_until is None or self.valid_until > now()
        counts = self.payment.account.livemode or not live_only
        return counts and self.status == self.Status.ACTIVE and self.uses_left != 0 and lasting

    def summary(self, *, live_only: bool) -> Json:
        """The entitlement as the API returns it; ``live_only`` as in ``usable``."""
        return {
            "id": self.id,
            "object": "entitlement",
            "subject": {"iss": self.iss, "sub": self.sub},
            "item": self.item,
            "payment": self.payment_id,
            "livemode": self.payment.account.livemode,
            "status": str(self.status),
            "usable": self.usable(live_only=live_only),
            "uses_left": self.uses_left,
            "valid_until": rfc3339(self.valid_until),
            "created_at": rfc3339(self.created_at),
        }


class EntitlementUse(models.Model):
    """One use, under the agent's own key: sent twice, it counts once."""

    entitlement = models.ForeignKey(Entitlement, models.CASCADE)
    key = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("use of an entitlement")
        verbose_name_plural = _("uses of entitlements")
        constraints = [models.UniqueConstraint(fields=["entitlement", "key"], name="one_use_per_key")]
