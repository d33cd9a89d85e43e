"""What receipts are signed with. The public half stays published for as long as there are receipts of it."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib.clock import now


class ReceiptKey(models.Model):
    """``private`` is a sealed JWK, ``public`` the JWK that anybody may read (RFC 7517). The newest signs."""

    kid = models.CharField(max_length=64, primary_key=True)
    private = models.TextField(editable=False)
    public = models.JSONField()
    created_at = models.DateTimeField(default=now)

    def __str__(self) -> str:
        return self.kid
