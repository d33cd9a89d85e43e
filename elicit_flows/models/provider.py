"""Who signs users in, and what they connect to."""

from __future__ import annotations

from django.db import models


class IdentityProvider(models.Model):
    """Who says who is in the browser. ``sort``: an OpenID provider, a site that vouches for its own users, a proxy that
    signs who it let through, or accounts of our own. ``client_secret`` is sealed by the vault and, like ``client_id``,
    ``scopes`` and ``introspect``, for OpenID; which of the others is for which sort is in ``configure.identities``.
    """

    class Sort(models.TextChoices):
        OPENID = "openid"
        SITE = "site"

    slug = models.SlugField(max_length=64, unique=True)
    sort = models.CharField(max_length=16, default=Sort.OPENID, db_default=Sort.OPENID)
    issuer = models.CharField(max_length=500, unique=True)
    client_id = models.CharField(max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    scopes = models.JSONField(default=list)
    max_age = models.PositiveIntegerField(null=True, blank=True, help_text="Seconds since the last sign-in, at most.")
    introspect = models.BooleanField(
        default=False, db_default=False, help_text="Ask it about every access token that an agent shows (RFC 7662)."
    )
    sign_in_url = models.CharField(max_length=1000, blank=True, default="", db_default="")
    jwks_url = models.CharField(max_length=1000, blank=True, default="", db_default="")
    keys = models.JSONField(default=list, db_default=[], blank=True)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug


class Provider(models.Model):
    """What users connect to: an OAuth provider, or one whose keys they hand over (``sort``, named as the kind is).

    ``client_secret`` is sealed by the vault. ``fields``, ``find_url`` and ``verify`` are for credentials, see
    ``kinds.credentials.config``; what stands above them is for OAuth.
    """

    class Sort(models.TextChoices):
        OAUTH = "oauth"
        CREDENTIALS = "credentials"

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    preset = models.CharField(max_length=64, blank=True)
    issuer = models.CharField(max_length=500, blank=True)
    authorize_url = models.CharField(max_length=1000, blank=True)
    token_url = models.CharField(max_length=1000, blank=True)
    revocation_url = models.CharField(max_length=1000, blank=True)
    userinfo_url = models.CharField(max_length=1000, blank=True)
    client_id = models.CharField(max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    token_auth = models.CharField(max_length=32, default="client_secret_basic")
    scopes = models.JSONField(default=list)
    pkce = models.CharField(max_length=8, default="S256")
    sort = models.CharField(max_length=16, default=Sort.OAUTH, db_default=Sort.OAUTH)
    fields = models.JSONField(default=list, db_default=[], blank=True)
    find_url = models.CharField(max_length=1000, blank=True, default="", db_default="")
    verify = models.JSONField(null=True, blank=True)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.name
