"""Checks of the vault keys, and the keys that sign receipts."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.lib.clock import now


class VaultKey(models.Model):
    """A known text sealed under a vault key, so that a wrong key is noticed at the start and not at the first read."""

    key_id = models.CharField(max_length=32, primary_key=True)
    sealed = models.TextField(editable=False)
    created_at = models.DateTimeField(default=now)  # when it was first used here

    class Meta:
        verbose_name = _("vault key")
        verbose_name_plural = _("vault keys")


class ReceiptKey(models.Model):
    """``private`` is a sealed JWK, ``public`` the public JWK (RFC 7517). The newest key signs."""

    kid = models.CharField(max_length=64, primary_key=True)
    private = models.TextField(editable=False)
    public = models.JSONField()
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("receipt key")
        verbose_name_plural = _("receipt keys")

    def __str__(self) -> str:
        return self.kid
