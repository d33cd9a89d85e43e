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
    refund_mismatch = models.BooleanField(
        default=False, help_text="Give back by itself what came in another amount than was asked for."
    )
    keep_late = models.BooleanField(
        default=False, help_text="Keep what is paid after the request was over, instead of giving it back."
    )
    enabled = models.BooleanField(default=True)
    ignored = models.PositiveIntegerField(default=0, editable=False, help_text="Webhooks of the other mode.")

    def __str__(self) -> str:
        return self.slug
