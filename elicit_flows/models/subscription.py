"""Subscriptions after their first payment, their renewals, and changes of their price. Written by ``payments`` only."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.payment import Payment
from elicit_flows.models.payment_account import PaymentAccount


class Subscription(models.Model):
    """``payment`` is the one that the person made on the provider's page. ``amount`` is the price that they agreed to,
    in minor units of the payment's currency. ``period_end``: it is paid until then.
    """

    class Status(models.TextChoices):
        ACTIVE = "active", pgettext_lazy("status", "Active")
        PAST_DUE = "past_due", pgettext_lazy("status", "Past due")  # a renewal was refused; it may still be paid
        ENDED = "ended", pgettext_lazy("status", "Ended")

    class By(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        PROVIDER = "provider", _("Provider")  # at the provider: by its dashboard, its portal or its rules
        POLICY = "policy", _("Policy")  # the person agreed when the request was over

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "su"))
    agent = models.ForeignKey(Agent, models.PROTECT, verbose_name=_("agent"), db_index=False)  # the list begins with it
    account = models.ForeignKey(PaymentAccount, models.PROTECT, verbose_name=_("payment account"))
    payment = models.OneToOneField(Payment, models.CASCADE, verbose_name=_("payment"), related_name="subscription")
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    ref = models.CharField(_("provider's ID"), max_length=255)
    amount = models.BigIntegerField(_("price"))
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.ACTIVE)
    period_end = models.DateTimeField(_("end of the paid period"), null=True)
    trial_ends_at = models.DateTimeField(_("end of the trial"), null=True)
    past_due_since = models.DateTimeField(_("past due since"), null=True)
    ends_at = models.DateTimeField(_("ends at"), null=True)  # it is cancelled: nothing is charged after this
    cancelled_by = models.CharField(_("cancelled by"), max_length=16, choices=By.choices, blank=True)
    # What each period costs and how often one begins, as the provider last said: differences are told once.
    price_seen = models.CharField(max_length=64, default="", db_default="")
    # When the provider was last asked: an answer to an earlier question does not undo a later one.
    seen_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    ended_at = models.DateTimeField(_("ended at"), null=True)

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        indexes = [
            # the agent's list, newest first, and by its filters; a person's
            models.Index(fields=["agent", "-created_at", "-id"], name="subscription_list"),
            models.Index(fields=["agent", "status", "-created_at", "-id"], name="subscription_list_status"),
            models.Index(fields=["sub", "agent", "-created_at", "-id"], name="subscription_person"),
            models.Index(fields=["iss", "sub", "-created_at", "-id"], name="subscription_person_list"),
            # operators look at all of them, newest first
            models.Index(fields=["created_at"], name="subscription_month"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def grace_until(self) -> datetime | None:
        """How long what was bought may still be used while a renewal is not paid; None if none is due."""
        if self.status != self.Status.PAST_DUE or self.period_end is None:
            return None
        return self.period_end + timedelta(days=self.account.renewal_grace)

    def summary(self) -> Json:
        """The subscription as the API returns it."""
        bought = self.payment
        return {
            "id": self.id,
            "object": "subscription",
            "payment": self.payment_id,
            "subject": {"iss": self.iss, "sub": self.sub},
            "livemode": self.account.livemode,
            "amount": self.amount,
            "currency": bought.currency,
            "interval": bought.interval,
            "description": bought.description,
            "item": bought.item or None,
            "status": str(self.status),
            "period_end": rfc3339(self.period_end),
            "trial_ends_at": rfc3339(self.trial_ends_at),
            "past_due_since": rfc3339(self.past_due_since),
            "grace_until": rfc3339(self.grace_until),
            "ends_at": rfc3339(self.ends_at),
            "cancelled_by": self.cancelled_by or None,
            "created_at": rfc3339(self.created_at),
            "ended_at": rfc3339(self.ended_at),
        }


class Renewal(models.Model):
    """One period after the first, as the provider charges it. ``ref`` is the provider's id of its invoice."""

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("status", "Open")  # not attempted yet
        FAILED = "failed", pgettext_lazy("status", "Failed")  # refused; the provider may try again
        PAID = "paid", pgettext_lazy("status", "Paid")
        VOID = "void", pgettext_lazy("status", "Void")  # given up: it is not collected any more

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "rn"))
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, verbose_name=_("subscription"), related_name="renewals", db_index=False
    )
    ref = models.CharField(_("provider's ID"), max_length=255)
    amount = models.BigIntegerField(_("amount"))
    currency = models.CharField(_("currency"), max_length=3)
    status = models.CharField(_("status"), max_length=16, choices=Status.choices)
    period_start = models.DateTimeField(_("start of the period"))
    period_end = models.DateTimeField(_("end of the period"))
    tries = models.PositiveIntegerField(_("tries"), default=0)
    receipt_url = models.CharField(_("receipt URL"), max_length=2000, blank=True)
    invoice_pdf = models.CharField(_("invoice as PDF"), max_length=2000, blank=True, default="", db_default="")
    created_at = models.DateTimeField(_("created at"), default=now)
    paid_at = models.DateTimeField(_("paid at"), null=True)

    class Meta:
        verbose_name = _("renewal")
        verbose_name_plural = _("renewals")
        constraints = [models.UniqueConstraint(fields=["subscription", "ref"], name="one_renewal_per_ref")]
        indexes = [
            models.Index(fields=["subscription", "-created_at", "-id"], name="renewal_list"),
            models.Index(fields=["paid_at"], name="renewal_paid", condition=models.Q(paid_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id

    def summary(self) -> Json:
        """The renewal as the API returns it."""
        return {
            "id": self.id,
            "object": "renewal",
            "subscription": self.subscription_id,
            "amount": self.amount,
            "currency": self.currency,
            "status": str(self.status),
            "period_start": rfc3339(self.period_start),
            "period_end": rfc3339(self.period_end),
            "tries": self.tries,
            "receipt_url": self.receipt_url or None,
            "invoice_pdf": self.invoice_pdf or None,
            "created_at": rfc3339(self.created_at),
            "paid_at": rfc3339(self.paid_at),
        }


class PriceChange(models.Model):
    """Another price for the periods to come, in minor units: ``was`` is the one that its person was shown as the old.

    ``agreed_at`` None: its person has not agreed. From then on ``try_at`` says when the provider is told again, until
    it has confirmed (``done_at``) or refused (``problem``).
    """

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "pc"))
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, verbose_name=_("subscription"), related_name="price_changes"
    )
    elicitation = models.OneToOneField(
        Elicitation, models.SET_NULL, verbose_name=_("elicitation"), null=True, related_name="price_change"
    )
    was = models.BigIntegerField(_("price until then"))
    amount = models.BigIntegerField(_("price"))
    tries = models.PositiveIntegerField(_("tries"), default=0)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    agreed_at = models.DateTimeField(_("agreed at"), null=True)
    try_at = models.DateTimeField(_("next try at"), null=True)
    done_at = models.DateTimeField(_("done at"), null=True)

    class Meta:
        verbose_name = _("change of a price")
        verbose_name_plural = _("changes of prices")
        indexes = [models.Index(fields=["try_at"], name="price_change_due", condition=models.Q(try_at__isnull=False))]

    def __str__(self) -> str:
        return self.id

    def summary(self) -> Json:
        """The change as an event and an export have it."""
        return {
            "amount": self.amount,
            "previous_amount": self.was,
            "agreed_at": rfc3339(self.agreed_at),
            "done_at": rfc3339(self.done_at),
        }
