"""Payments, their checkouts, refunds and cancellations. Written by ``payments`` only."""

from __future__ import annotations

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.kinds.payment.order import by_provider
from elicit_flows.kinds.payment.values import State
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.payment_account import PaymentAccount

# Refunded in full: the status is still "paid".
REFUNDED = models.Q(status="paid", amount__gt=0, refunded__gte=models.F("amount"))


class Payment(models.Model):
    """What an elicitation asks to be paid. It outlives the elicitation. ``amount`` and ``refunded`` are in
    minor units.
    """

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("status", "Open")
        PROCESSING = "processing", pgettext_lazy("status", "Processing")  # a delayed payment is under way
        PAID = "paid", pgettext_lazy("status", "Paid")
        SAVED = "saved", pgettext_lazy("status", "Saved")
        REMOVED = "removed", pgettext_lazy("status", "Removed")  # a saved method that the person has removed
        ACTIVE = "active", pgettext_lazy("status", "Active")
        ENDED = "ended", pgettext_lazy("status", "Ended")  # a subscription that was active
        # The payment differs from the request: a person has to decide.
        MISMATCH = "mismatch", pgettext_lazy("status", "Mismatch")
        CLOSED = "closed", pgettext_lazy("status", "Closed")  # not paid, and no longer payable

    class Mode(models.TextChoices):
        PAY = "pay", pgettext_lazy("mode of a payment", "One payment")
        SAVE = "save", pgettext_lazy("mode of a payment", "Saved payment method")
        SUBSCRIBE = "subscribe", pgettext_lazy("mode of a payment", "Subscription")
        MANDATE = "mandate", pgettext_lazy("mode of a payment", "Mandate")
        CHARGE = "charge", pgettext_lazy("mode of a payment", "Charge of a mandate")

    class Dispute(models.TextChoices):
        OPEN = "open", pgettext_lazy("dispute", "Open")
        WON = "won", pgettext_lazy("dispute", "Won")
        LOST = "lost", pgettext_lazy("dispute", "Lost")

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "pa"))
    agent = models.ForeignKey(Agent, models.PROTECT, verbose_name=_("agent"), db_index=False)  # the list begins with it
    account = models.ForeignKey(PaymentAccount, models.PROTECT, verbose_name=_("payment account"))
    elicitation = models.OneToOneField(
        Elicitation, models.SET_NULL, verbose_name=_("elicitation"), null=True, related_name="payment"
    )
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    mode = models.CharField(_("mode"), max_length=16, choices=Mode.choices)
    amount = models.BigIntegerField(_("amount"))
    currency = models.CharField(max_length=3)
    description = models.CharField(_("description"), max_length=500)
    item = models.CharField(_("item"), max_length=200, blank=True)
    # Mode subscribe: day, week, month or year.
    interval = models.CharField(_("interval"), max_length=8, blank=True, db_default="")
    trial_days = models.PositiveSmallIntegerField(_("days of trial"), null=True)  # mode subscribe
    uses = models.PositiveIntegerField(_("uses"), null=True)  # of the item; None: without limit
    # What the amount is made of, as it was asked for (kinds.payment.order): never changed afterwards.
    order = models.JSONField(pgettext_lazy("purchase", "order"), null=True)
    # Where the provider computes the tax: the most that the person agreed to, and of the amount the tax. Until it is
    # paid, the amount is the most as well.
    max_amount = models.BigIntegerField(_("at most"), null=True)
    tax = models.BigIntegerField(pgettext_lazy("of an amount", "tax"), null=True)
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.OPEN)
    refunded = models.BigIntegerField(default=0)
    disputed = models.CharField(_("dispute"), max_length=8, blank=True, choices=Dispute.choices)
    # While the dispute's provider waits for evidence of the operator's.
    evidence_due = models.DateTimeField(_("evidence due"), null=True)
    payment_ref = models.CharField(_("provider's ID of the payment"), max_length=255, blank=True)
    receipt_url = models.CharField(_("receipt URL"), max_length=2000, blank=True)
    # At the provider's own host (see payments.invoices).
    invoice_url = models.CharField(_("invoice"), max_length=2000, blank=True, default="", db_default="")
    invoice_pdf = models.CharField(_("invoice as PDF"), max_length=2000, blank=True, default="", db_default="")
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    paid_at = models.DateTimeField(_("paid at"), null=True)
    # Mode subscribe: the end of the paid period, and after a cancellation the time after which nothing is charged.
    period_end = models.DateTimeField(_("end of the paid period"), null=True)
    ends_at = models.DateTimeField(_("ends at"), null=True)

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        indexes = [
            # the agent's list, newest first, and by its filters
            models.Index(fields=["agent", "-created_at", "-id"], name="payment_list"),
            models.Index(fields=["agent", "status", "-created_at", "-id"], name="payment_list_status"),
            models.Index(fields=["agent", "mode", "-created_at", "-id"], name="payment_list_mode"),
            models.Index(fields=["agent", "item", "-created_at", "-id"], name="payment_list_item"),
            models.Index(fields=["agent", "-created_at", "-id"], name="payment_list_refunded", condition=REFUNDED),
            models.Index(fields=["iss", "sub", "agent"], name="payment_owner"),
            # a person's, newest first
            models.Index(fields=["iss", "sub", "-created_at", "-id"], name="payment_person_list"),
            models.Index(fields=["account", "payment_ref"], name="payment_ref"),
            # the agent's list of one person, in its order: else PostgreSQL may read all of the list
            models.Index(fields=["sub", "agent", "-created_at", "-id"], name="payment_person"),
            # operators look at the payments of a month
            models.Index(fields=["created_at"], name="payment_month"),
            # what was charged and refunded in a period
            models.Index(fields=["paid_at"], name="payment_paid", condition=models.Q(paid_at__isnull=False)),
            # payments that need an operator's attention
            models.Index(fields=["status", "created_at"], name="payment_status"),
            models.Index(fields=["disputed"], name="payment_disputed"),
            models.Index(
                fields=["evidence_due"], name="payment_evidence_due", condition=models.Q(evidence_due__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def due_at_once(self) -> int:
        """What the provider's page takes: nothing where a trial comes first."""
        return 0 if self.trial_days else self.amount

    @property
    def known_tax(self) -> int | None:
        """Of an order: the tax that was given, or that the provider has computed; None if it has not yet."""
        return self.tax if self.order is None or by_provider(self.order) else int(self.order["tax"])

    def summary(self) -> Json:
        """The payment as the API returns it. ``status`` is "refunded" once everything was refunded."""
        whole = self.status == self.Status.PAID and 0 < self.amount <= self.refunded
        return {
            "id": self.id,
            "object": "payment",
            "elicitation": self.elicitation.head.pk if self.elicitation else None,
            "subject": {"iss": self.iss, "sub": self.sub},
            "livemode": self.account.livemode,
            "mode": self.mode,
            "interval": self.interval or None,
            "trial_days": self.trial_days,
            "amount": self.amount,
            "max_amount": self.max_amount,
            "tax": self.known_tax,
            "currency": self.currency,
            "description": self.description,
            "item": self.item or None,
            "uses": self.uses,
            "order": self.order,
            "status": "refunded" if whole else str(self.status),
            "amount_refunded": self.refunded,
            "dispute": self.disputed or None,
            "receipt_url": self.receipt_url or None,
            "invoice_url": self.invoice_url or None,
            "invoice_pdf": self.invoice_pdf or None,
            "created_at": rfc3339(self.created_at),
            "paid_at": rfc3339(self.paid_at),
            "period_end": rfc3339(self.period_end),
            "ends_at": rfc3339(self.ends_at),
        }


class Checkout(models.Model):
    """One page at the provider. Its id is the base of the idempotency key, and all that the provider learns about us.

    ``url`` is sealed, because anybody who has it can pay. ``key_number`` counts useless answers that the provider
    stored under a key (see providers.base.Unclear).
    """

    class Status(models.TextChoices):
        STARTING = (
            "starting",
            pgettext_lazy("status", "Starting"),
        )  # recorded before the provider is asked; nobody has seen a page
        OPEN = State.OPEN.value, pgettext_lazy("status", "Open")
        PROCESSING = State.PROCESSING.value, pgettext_lazy("status", "Processing")
        PAID = "paid", pgettext_lazy("status", "Paid")  # successful, in any mode
        OVER = "over", pgettext_lazy("status", "Over")  # no longer payable

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "co"))
    payment = models.ForeignKey(Payment, models.CASCADE, related_name="checkouts")
    account = models.ForeignKey(PaymentAccount, models.PROTECT)
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.STARTING)
    ref = models.CharField(_("provider's ID"), max_length=255, null=True)
    url = models.TextField(blank=True, editable=False)
    key_number = models.PositiveIntegerField(default=1)
    # Part of what is asked under the key, so it stays as it was at the first press.
    language = models.CharField(max_length=16, default="", db_default="")
    created_at = models.DateTimeField(_("created at"), default=now)
    expires_at = models.DateTimeField(_("expires at"))
    # It began a second subscription of the same payment, which is ended.
    surplus = models.BooleanField(default=False, db_default=False)
    # A charge under a mandate: the provider has no page for it.
    off_session = models.BooleanField(default=False, db_default=False)
    # It saves another payment method for what was agreed to before, and nothing is paid. The provider's ID of the
    # method that is then to be removed; "" for none. None: an ordinary checkout.
    replaces = models.CharField(max_length=255, null=True)
    look_at = models.DateTimeField(_("next check at"), null=True)  # when the sweep asks the provider again

    class Meta:
        verbose_name = _("checkout")
        verbose_name_plural = _("checkouts")
        constraints = [
            models.UniqueConstraint(fields=["account", "ref"], name="one_checkout_per_ref"),
            # a second page for one payment only when the first is no longer payable
            models.UniqueConstraint(
                fields=["payment"],
                condition=models.Q(status__in=["starting", "open", "processing"]),
                name="one_payable_checkout",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "look_at"], name="checkout_look", condition=models.Q(look_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Refund(models.Model):
    """``amount`` is in minor units. Its id is the base of the idempotency key."""

    class Status(models.TextChoices):
        ASKED = "asked", pgettext_lazy("status", "Asked")  # recorded; the provider may not know it yet
        PENDING = "pending", pgettext_lazy("status", "Pending")
        DONE = "done", pgettext_lazy("status", "Done")
        FAILED = "failed", pgettext_lazy("status", "Failed")

    class By(models.TextChoices):
        AGENT = "agent", _("Agent")
        OPERATOR = "operator", _("Operator")
        PROVIDER = "provider", _("Provider")  # made in the provider's dashboard
        POLICY = "policy", _("Policy")  # a payment that was late, paid twice, or different from the request

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "re"))
    payment = models.ForeignKey(Payment, models.CASCADE, verbose_name=_("payment"), related_name="refunds")
    payment_ref = models.CharField(_("provider's ID of the payment"), max_length=255)
    amount = models.BigIntegerField(_("amount"))
    unnamed_amount = models.BooleanField(
        default=False, db_default=False, editable=False
    )  # "what is left" was asked for
    status = models.CharField(_("status"), max_length=16, choices=Status.choices, default=Status.ASKED)
    by = models.CharField(_("requested by"), max_length=16, choices=By.choices)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    ref = models.CharField(_("provider's ID"), max_length=255, null=True)
    idempotency_key = models.CharField(max_length=255, null=True)
    key_number = models.PositiveIntegerField(default=1)
    tries = models.PositiveIntegerField(_("tries"), default=0)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    done_at = models.DateTimeField(_("done at"), null=True)
    try_at = models.DateTimeField(_("next try at"), null=True)

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        constraints = [
            models.UniqueConstraint(fields=["payment", "ref"], name="one_refund_per_ref"),
            models.UniqueConstraint(fields=["payment", "idempotency_key"], name="one_refund_per_idempotency_key"),
        ]
        indexes = [
            models.Index(fields=["try_at"], name="refund_due", condition=models.Q(try_at__isnull=False)),
            models.Index(fields=["status"], name="refund_status"),
            models.Index(fields=["done_at"], name="refund_done", condition=models.Q(done_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id

    def summary(self) -> Json:
        """The refund as the API returns it."""
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


class Cancellation(models.Model):
    """``try_at`` None: the provider has confirmed it. ``problem``: why the last attempt failed. It is never
    given up. ``at_once``: a subscription ends now, and not with its paid period.
    """

    class By(models.TextChoices):
        PERSON = "person", _("Person")
        AGENT = "agent", _("Agent")
        TIME = "time", _("Time")
        POLICY = "policy", _("Policy")

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "ca"))
    payment = models.OneToOneField(Payment, models.CASCADE, verbose_name=_("payment"), related_name="cancellation")
    by = models.CharField(
        _("requested by"), max_length=16, choices=By.choices, default=By.PERSON, db_default=By.PERSON.value
    )
    at_once = models.BooleanField(_("at once"), default=False, db_default=False)
    tries = models.PositiveIntegerField(_("tries"), default=0)
    problem = models.CharField(_("problem"), max_length=500, blank=True)
    asked_at = models.DateTimeField(_("requested at"), default=now)
    try_at = models.DateTimeField(_("next try to cancel at"), null=True)
    done_at = models.DateTimeField(_("done at"), null=True)

    class Meta:
        verbose_name = _("cancellation")
        verbose_name_plural = _("cancellations")
        indexes = [
            models.Index(fields=["try_at"], name="cancellation_due", condition=models.Q(try_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id
