"""People whom this service itself signs in, for a team that has no identity provider."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import clock, ids


def new_sub() -> str:
    return ids.name("us")


class Member(models.Model):
    """``sub`` is chance and stays; the name is for people."""

    sub = models.CharField(max_length=64, unique=True, default=new_sub, editable=False)
    name = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.name


class Passkey(models.Model):
    """Its id (base64url) and public key (COSE, base64url) are no secrets; the private key never leaves its device."""

    member = models.ForeignKey(Member, models.CASCADE, related_name="passkeys")
    credential_id = models.CharField(max_length=1400)
    credential_hash = models.CharField(max_length=64, unique=True)
    public_key = models.TextField()
    sign_count = models.BigIntegerField(default=0)
    backed_up = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.member_id}/{self.pk}"


class Invitation(models.Model):
    """Lets one person add one passkey. The token is in a link and kept here as a hash."""

    member = models.ForeignKey(Member, models.CASCADE, related_name="invitations")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.pk)
