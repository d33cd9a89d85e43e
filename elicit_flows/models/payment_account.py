"""Where money goes."""

from __future__ import annotations

from django.db import models


class PaymentAccount(models.Model):
    """An operator's account at a payment provider. The key and the webhook secrets are sealed by the vault."""

    slug = models.SlugField(max_length=64, unique=True)
    provider = models.CharField(max_length=32)
    secret_key = models.TextField(blank=True, editable=False)
    webhook_secrets = models.TextField(blank=True, editable=False)
    api_base = models.CharField(max_length=500, blank=True)
    livemode = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug
