"""Agents and their spend limits."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.lib import clock
from elicit_flows.models.payment_account import PaymentAccount
from elicit_flows.models.picture import Picture
from elicit_flows.models.provider import IdentityProvider, Provider


class Agent(models.Model):
    """A program that asks people for something. Its API key is stored as a hash, its webhook secrets are sealed."""

    slug = models.SlugField(_("slug"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200)
    logo = models.ForeignKey(Picture, models.PROTECT, verbose_name=_("logo"), null=True, blank=True, related_name="+")
    site = models.CharField(_("site"), max_length=2000, blank=True, default="", db_default="")
    description = models.CharField(_("description"), max_length=300, blank=True, default="", db_default="")
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    key_hint = models.CharField(
        _("start of the API key"),
        max_length=16,
        editable=False,
        help_text=_("The first characters of the key, to tell keys apart."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    identity_providers = models.ManyToManyField(IdentityProvider, verbose_name=_("identity providers"), blank=True)
    all_providers = models.BooleanField(
        _("all providers"),
        default=True,
        help_text=_("The agent may ask for every provider. If off, only for those chosen below."),
    )
    providers = models.ManyToManyField(Provider, verbose_name=_("providers"), blank=True)
    payment_accounts = models.ManyToManyField(PaymentAccount, verbose_name=_("payment accounts"), blank=True)
    mcp_servers = models.JSONField(_("MCP servers"), default=list, db_default=[], blank=True)
    import_connections = models.BooleanField(
        _("may import connections"),
        default=False,
        db_default=False,
        help_text=_("The agent may import tokens of accounts that people connected elsewhere."),
    )
    notify = models.BooleanField(
        _("may have people told"),
        default=False,
        db_default=False,
        help_text=_("The agent may have people told, by e-mail for example, that a request waits for them."),
    )
    require_user_token = models.BooleanField(
        _("needs the user's token"),
        default=False,
        db_default=False,
        help_text=_("The agent gets a user's tokens only if it shows that user's own access token."),
    )
    tokens_never_leave = models.BooleanField(
        _("tokens never leave"),
        default=False,
        db_default=False,
        help_text=_("The agent gets no token and no typed secret. It calls providers' APIs through this service."),
    )
    managed_access = models.BooleanField(
        _("managed access"),
        default=False,
        db_default=False,
        help_text=_("The agent gets tokens with no page where a user's organisation has decided about that."),
    )
    user_token_audiences = models.JSONField(_("audiences of users' tokens"), default=list, db_default=[], blank=True)
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"),
        null=True,
        blank=True,
        help_text=_("The most requests that the agent may send in a minute. Empty: the limit of the service."),
    )
    return_urls = models.JSONField(_("return URLs"), default=list, blank=True)
    webhook_url = models.CharField(_("webhook URL"), max_length=1000, blank=True)
    webhook_secret = models.TextField(blank=True, editable=False)
    webhook_secret_previous = models.TextField(blank=True, editable=False)
    webhook_previous_until = models.DateTimeField(null=True, editable=False)
    webhook_disabled_at = models.DateTimeField(_("webhooks stopped at"), null=True, blank=True)
    webhook_failures = models.PositiveIntegerField(default=0, editable=False, help_text="Failed tries in a row.")
    created_at = models.DateTimeField(_("created at"), default=clock.now, editable=False)

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")

    def __str__(self) -> str:
        return self.name


class SpendLimit(models.Model):
    """Limits in minor units of ``currency``; None: no limit of that kind. See ``payments.spend_limits``."""

    agent = models.ForeignKey(Agent, models.CASCADE, verbose_name=_("agent"), related_name="spend_limits")
    currency = models.CharField(_("currency"), max_length=3)
    per_payment = models.PositiveBigIntegerField(_("per payment"), null=True, blank=True)
    per_day = models.PositiveBigIntegerField(_("per day"), null=True, blank=True)

    class Meta:
        verbose_name = _("spend limit")
        verbose_name_plural = _("spend limits")
        constraints = [models.UniqueConstraint(fields=["agent", "currency"], name="one_limit_per_currency")]

    def __str__(self) -> str:
        return f"{self.agent.slug}, {self.currency}"
