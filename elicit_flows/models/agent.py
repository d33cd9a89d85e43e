"""Who may ask."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import clock
from elicit_flows.models.payment_account import PaymentAccount
from elicit_flows.models.provider import IdentityProvider, Provider


class Agent(models.Model):
    """A program that asks. Its API key is kept as a hash, its webhook secrets sealed."""

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    key_hint = models.CharField(max_length=16, editable=False, help_text="The first characters, to tell keys apart.")
    enabled = models.BooleanField(default=True)
    identity_providers = models.ManyToManyField(IdentityProvider, blank=True)
    all_providers = models.BooleanField(default=True)
    providers = models.ManyToManyField(Provider, blank=True)
    payment_accounts = models.ManyToManyField(PaymentAccount, blank=True)
    import_connections = models.BooleanField(
        default=False, db_default=False, help_text="Whether it may bring tokens that were connected elsewhere."
    )
    require_user_token = models.BooleanField(
        default=False, db_default=False, help_text="Gets a user's tokens only by showing that user's own."
    )
    user_token_audiences = models.JSONField(default=list, db_default=[], blank=True)
    return_urls = models.JSONField(default=list, blank=True)
    webhook_url = models.CharField(max_length=1000, blank=True)
    webhook_secret = models.TextField(blank=True, editable=False)
    webhook_secret_previous = models.TextField(blank=True, editable=False)
    webhook_previous_until = models.DateTimeField(null=True, editable=False)
    webhook_disabled_at = models.DateTimeField(null=True, blank=True)
    webhook_failures = models.PositiveIntegerField(default=0, editable=False, help_text="Failed tries in a row.")
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.name

    @property
    def wants_webhooks(self) -> bool:
        return bool(self.webhook_url) and self.webhook_disabled_at is None
