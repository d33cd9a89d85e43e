"""Payment accounts, customers and incoming webhooks."""

from __future__ import annotations

from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT
from elicit_flows.lib.clock import now

USUAL_GRACE, MAX_GRACE = 3, 60  # days
MAX_FEE = 10_000  # basis points: all of it


class PaymentAccount(models.Model):
    """An operator's account at a payment provider. The vault seals the key and the webhook secrets."""

    slug = models.SlugField(_("slug"), max_length=64, unique=True)
    provider = models.CharField(_("provider"), max_length=32)
    client_id = models.CharField(_("client ID"), max_length=200, blank=True, default="", db_default="")
    secret_key = models.TextField(blank=True, editable=False)
    webhook_secrets = models.TextField(blank=True, editable=False)
    api_base = models.CharField(_("API base"), max_length=500, blank=True)
    livemode = models.BooleanField(_("live mode"), default=False)
    refund_mismatch = models.BooleanField(
        _("refund mismatches"),
        default=False,
        help_text=_("Refund a payment automatically if its amount or currency is not what was requested."),
    )
    keep_late = models.BooleanField(
        _("keep late payments"),
        default=False,
        help_text=_("Keep a payment that arrives after the request has ended. If off, it is refunded."),
    )
    allow_save = models.BooleanField(
        _("may save payment methods"),
        default=False,
        db_default=False,
        help_text=_(
            "Agents may ask people to save a payment method. This service never charges a saved method; only you can, "
            "at the provider."
        ),
    )
    allow_mandates = models.BooleanField(
        _("may have mandates"),
        default=False,
        db_default=False,
        help_text=_(
            "Agents may ask people to allow later charges, within limits that the person sees and can lower or end."
        ),
    )
    renewal_grace = models.PositiveSmallIntegerField(
        _("days of grace for renewals"),
        default=USUAL_GRACE,
        db_default=USUAL_GRACE,
        blank=True,
        validators=[MaxValueValidator(MAX_GRACE)],
        help_text=_(
            "How many days a person may use what they subscribed to after the paid period, while the renewal is not "
            "paid."
        ),
    )
    computes_tax = models.BooleanField(
        _("computes tax"),
        default=False,
        db_default=False,
        help_text=_(
            "Agents may leave the tax of an order to the provider, up to a total that the person agrees to. Set up the "
            "tax in the provider's dashboard first."
        ),
    )
    makes_invoices = models.BooleanField(
        _("makes invoices"),
        default=False,
        db_default=False,
        help_text=_(
            "Agents may ask for an invoice of an order, which the provider makes. It may cost you a fee there."
        ),
    )
    # Of a wallet that pays by HTTP 402. Amounts are in the token's smallest unit.
    network = models.CharField(_("network"), max_length=64, blank=True, default="", db_default="")
    max_per_payment = models.BigIntegerField(_("at most per payment"), null=True, blank=True)
    max_per_day = models.BigIntegerField(_("at most in 24 hours"), null=True, blank=True)
    payees = models.JSONField(_("payees"), default=list, db_default=[], blank=True)
    connected_account = models.CharField(
        _("connected account"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text=_("Of Stripe Connect: the account of another business, acct_…, that people pay."),
    )
    application_fee_basis_points = models.PositiveSmallIntegerField(
        _("application fee in basis points"),
        default=0,
        db_default=0,
        blank=True,
        validators=[MaxValueValidator(MAX_FEE)],
        help_text=_(
            "Your share of each payment on the connected account, in hundredths of a percent: 250 is two and a half "
            "percent."
        ),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    ignored = models.PositiveIntegerField(
        _("ignored webhooks"),
        default=0,
        editable=False,
        help_text=_("How many webhooks of the other mode, live or test, were ignored."),
    )

    class Meta:
        verbose_name = _("payment account")
        verbose_name_plural = _("payment accounts")

    def __str__(self) -> str:
        return self.slug


class Customer(models.Model):
    """``ref`` is the provider's id of the person, so that saved methods are offered when they pay again."""

    account = models.ForeignKey(PaymentAccount, models.CASCADE)
    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    ref = models.CharField(max_length=255)

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        constraints = [models.UniqueConstraint(fields=["account", "iss", "sub"], name="one_customer_per_person")]

    def __str__(self) -> str:
        return self.ref


class Inbound(models.Model):
    """A webhook of a payment provider. It is only a hint: the amounts in it are not stored, the provider is asked."""

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
        verbose_name = _("received webhook")
        verbose_name_plural = _("received webhooks")
        constraints = [models.UniqueConstraint(fields=["account", "event_id"], name="one_inbound_per_event")]
        indexes = [
            models.Index(fields=["account", "try_at"], name="inbound_due", condition=models.Q(try_at__isnull=False)),
            models.Index(fields=["received_at"], name="inbound_purge"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"
