"""Mandates: a person's standing yes to charges, within limits. Written by ``payments`` only."""

from __future__ import annotations

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.payment import Payment
from elicit_flows.models.payment_account import PaymentAccount

LIMITS = ("per_charge", "per_day", "per_month", "total")


class Mandate(models.Model):
    """``payment`` is the one that saved the method. The limits are in minor units; None: no limit of that kind.

    ``method_ref`` and ``customer_ref`` are the provider's ids, which are worth nothing without the account's key.
    """

    class Status(models.TextChoices):
        ASKED = "asked", pgettext_lazy("status", "Asked")  # the person has not agreed
        ACTIVE = "active", pgettext_lazy("status", "Active")
        ENDED = "ended", pgettext_lazy("status", "Ended")

    class By(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        TIME = "time", _("Time")  # its last day has passed
        POLICY = "policy", _("Policy")  # the person agreed when the request was over

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "ma"))
    agent = models.ForeignKey(Agent, models.PROTECT, verbose_name=_("agent"), db_index=False)  # the list begins with it
    account = models.ForeignKey(PaymentAccount, models.PROTECT, verbose_name=_("payment account"))
    payment = models.OneToOneField(Payment, models.CASCADE, verbose_name=_("payment"), related_name="mandate")
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    currency = models.CharField(_("currency"), max_length=3)
    description = models.CharField(_("description"), max_length=500)
    per_charge = models.BigIntegerField(_("per charge"))
    per_day = models.BigIntegerField(_("in 24 hours"), null=True)
    per_month = models.BigIntegerField(_("in 30 days"), null=True)
    total = models.BigIntegerField(_("in all"))
    until = models.DateTimeField(_("until"))
    notice = models.BooleanField(_("announced"), default=False)  # each charge waits a day, in which it can be refused
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.ASKED)
    ended_by = models.CharField(_("ended by"), max_length=16, choices=By.choices, blank=True)
    customer_ref = models.CharField(max_length=255, blank=True)
    method_ref = models.CharField(max_length=255, blank=True)
    method = models.CharField(_("payment method"), max_length=100, blank=True)  # in words: "visa 4242"
    created_at = models.DateTimeField(_("created at"), default=now)
    given_at = models.DateTimeField(_("given at"), null=True)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("mandate")
        verbose_name_plural = _("mandates")
        indexes = [
            # the agent's list, newest first; a person's
            models.Index(fields=["agent", "-created_at", "-id"], name="mandate_list"),
            models.Index(fields=["iss", "sub", "-created_at", "-id"], name="mandate_person_list"),
            # operators look at all of them, newest first
            models.Index(fields=["created_at"], name="mandate_month"),
            # those whose time is over
            models.Index(fields=["account", "until"], name="mandate_until", condition=models.Q(status="active")),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def limits(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LIMITS}

    def summary(self) -> Json:
        """The mandate as the API returns it."""
        return {
            "id": self.id,
            "object": "mandate",
            "subject": {"iss": self.iss, "sub": self.sub},
            "livemode": self.account.livemode,
            "payment": self.payment_id,
            "currency": self.currency,
            "description": self.description,
            **self.limits,
            "until": rfc3339(self.until),
            "notice": "before" if self.notice else "after",
            "status": str(self.status),
            "ended_by": self.ended_by or None,
            "created_at": rfc3339(self.given_at or self.created_at),
            "ended_at": rfc3339(self.ended_at),
        }


class MandateCharge(models.Model):
    """One charge under a mandate: what the agent asked for, and the payment that it became.

    ``at``: when it is made, for an announced one, and the time that the limits count it at. ``failure``: the provider's
    code, or one of ours.
    """

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "mc"))
    mandate = models.ForeignKey(
        Mandate, models.CASCADE, verbose_name=_("mandate"), related_name="charges", db_index=False
    )
    payment = models.OneToOneField(Payment, models.CASCADE, verbose_name=_("payment"), related_name="charge")
    idempotency_key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    metadata = models.JSONField(default=dict)
    failure = models.CharField(_("failure"), max_length=100, blank=True)
    at = models.DateTimeField(_("charged at"), default=now)
    created_at = models.DateTimeField(_("created at"), default=now)

    class Meta:
        verbose_name = _("charge of a mandate")
        verbose_name_plural = _("charges of mandates")
        constraints = [
            models.UniqueConstraint(fields=["mandate", "idempotency_key"], name="one_charge_per_idempotency_key"),
        ]
        indexes = [models.Index(fields=["mandate", "-created_at", "-id"], name="mandate_charge_list")]

    def __str__(self) -> str:
        return self.id

    @property
    def status(self) -> str:
        """announced, processing, requires_action, paid, mismatch or failed, by the payment that it became."""
        if self.payment.status == Payment.Status.OPEN:
            if self.payment.elicitation_id:
                return "requires_action"
            return "announced" if self.at > now() else "processing"
        return "failed" if self.payment.status == Payment.Status.CLOSED else str(self.payment.status)

    def summary(self) -> Json:
        """The charge as the API returns it, without its link."""
        asked = self.payment
        return {
            "id": self.id,
            "object": "charge",
            "mandate": self.mandate_id,
            "payment": self.payment_id,
            "amount": asked.amount,
            "currency": asked.currency,
            "description": asked.description,
            "item": asked.item or None,
            "uses": asked.uses,
            "status": self.status,
            "failure": self.failure or None,
            "amount_refunded": asked.refunded,
            "elicitation": asked.elicitation_id,
            "metadata": self.metadata,
            "charge_at": rfc3339(self.at),
            "created_at": rfc3339(self.created_at),
        }
