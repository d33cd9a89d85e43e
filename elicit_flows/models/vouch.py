"""A site's word for one browser, between the moment it arrives and the moment that browser takes it."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import clock
from elicit_flows.models.provider import IdentityProvider


class Vouch(models.Model):
    """``assertion_hash`` is of the name that the site gave the assertion, for single use; ``code_hash`` of what the
    browser that brought it was given; ``state_hash`` of the sign-in that it answers, which has to be that browser's.
    ``elicitation`` is "" where it is for no link.
    """

    identity_provider = models.ForeignKey(IdentityProvider, models.CASCADE)
    assertion_hash = models.CharField(max_length=64)
    code_hash = models.CharField(max_length=64, unique=True)
    state_hash = models.CharField(max_length=64, unique=True)
    elicitation = models.CharField(max_length=64, blank=True)
    sub = models.CharField(max_length=255)
    label = models.CharField(max_length=255, blank=True)
    auth_time = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["identity_provider", "assertion_hash"], name="one_vouch_per_assertion"),
        ]
        indexes = [models.Index(fields=["created_at"], name="vouch_age")]

    def __str__(self) -> str:
        return str(self.pk)
