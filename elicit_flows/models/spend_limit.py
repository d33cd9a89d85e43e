"""How much an agent may ask of one person. An operator's to set: nothing that an agent sends can raise it."""

from __future__ import annotations

from django.db import models

from elicit_flows.models.agent import Agent


class SpendLimit(models.Model):
    """In minor units of ``currency``; None is no limit of that kind. See ``ledger.limits``."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="spend_limits")
    currency = models.CharField(max_length=3)
    per_payment = models.PositiveBigIntegerField(null=True, blank=True)
    per_day = models.PositiveBigIntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "currency"], name="one_limit_per_currency")]

    def __str__(self) -> str:
        return f"{self.agent.slug}, {self.currency}"
