"""Who this service is at a provider where it registered itself."""

from __future__ import annotations

from django.db import models

from elicit_flows.models.provider import Provider


class Registration(models.Model):
    """``client_secret`` is sealed by the vault. Without ``registered_at`` somebody is at it until ``lease_until``."""

    provider = models.OneToOneField(Provider, models.CASCADE, related_name="registered")
    client_id = models.CharField(max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    token_auth = models.CharField(max_length=32, blank=True)
    registered_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField()
