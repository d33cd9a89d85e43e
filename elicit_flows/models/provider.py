"""Who signs users in, and what they connect to."""

from __future__ import annotations

from typing import Any

from django.db import models

from elicit_flows import catalogue
from elicit_flows.lib.oauth import PLAIN, Quirks
from elicit_flows.values import Json


class IdentityProvider(models.Model):
    """Who says who is in the browser. ``sort``: an OpenID provider, a site that vouches for its own users, a proxy that
    signs who it let through, or accounts of our own. ``client_secret`` is sealed by the vault and, like ``client_id``,
    ``scopes`` and ``introspect``, for OpenID; which of the others is for which sort is in ``configure.identities``.
    """

    class Sort(models.TextChoices):
        OPENID = "openid"
        SITE = "site"
        PROXY = "proxy"
        ACCOUNTS = "accounts"

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
    header = models.CharField(max_length=100, blank=True, default="", db_default="")
    audiences = models.JSONField(default=list, db_default=[], blank=True)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug


class Provider(models.Model):
    """What users connect to: an OAuth provider, or one whose keys they hand over (``sort``, named as the kind is).

    ``client_secret`` is sealed by the vault. ``fields``, ``find_url`` and ``verify`` are for credentials, see
    ``kinds.credentials.config``; what stands above them is for OAuth, and ``token_url``, ``token_auth``, ``scopes`` and
    ``resources`` also for credentials that are a client of the person's own.

    ``given`` names what the operator said; everything else is what the preset said when the row was written, and is
    looked up again where it is used. None: the row was written before there was such a list, and says all itself.
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
    device_authorization_url = models.CharField(max_length=1000, blank=True, default="", db_default="")
    client_id = models.CharField(max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    token_auth = models.CharField(max_length=32, default="client_secret_basic")
    scopes = models.JSONField(default=list)
    grant = models.CharField(max_length=32, default="authorization_code", db_default="authorization_code")
    pkce = models.CharField(max_length=8, default="S256")
    registration = models.CharField(max_length=16, default="off", db_default="off")
    par = models.CharField(max_length=8, default="auto", db_default="auto")
    dpop = models.CharField(max_length=8, default="off", db_default="off")
    resources = models.JSONField(default=list, db_default=[], blank=True)
    sort = models.CharField(max_length=16, default=Sort.OAUTH, db_default=Sort.OAUTH)
    fields = models.JSONField(default=list, db_default=[], blank=True)
    find_url = models.CharField(max_length=1000, blank=True, default="", db_default="")
    verify = models.JSONField(null=True, blank=True)
    given = models.JSONField(null=True, blank=True, editable=False)
    variables = models.JSONField(default=dict, db_default={}, blank=True)
    enabled = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.name

    def settings(self) -> Json:
        """What holds now, under the names of the configuration: as the operator said, else as the preset says today.

        A preset that is not there any more, or cannot be filled in, goes on as it was when the row was written.
        """
        written: Json = {name: getattr(self, name) for name in SETTINGS}
        if self.given is None:
            return written
        return written | {name: value for name, value in self._preset().items() if name not in self.given}

    def quirks(self) -> Quirks:
        entry = self._entry()
        if entry is None:
            return PLAIN
        try:
            return entry.oddities(self.variables)
        except ValueError:
            return PLAIN

    def scope_words(self) -> dict[str, str]:
        """What its scopes let an agent do, in words, of those that its preset describes."""
        entry = self._entry()
        return dict(entry.scopes.words) if entry else {}

    def _entry(self) -> catalogue.Entry | None:
        return catalogue.find(self.preset) if self.preset else None

    def _preset(self) -> dict[str, Any]:
        entry = self._entry()
        if entry is None or entry.sort != self.sort:
            return {}
        try:
            return entry.settings(self.variables)
        except ValueError:
            return {}


SETTINGS = (
    "name", "issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url", "device_authorization_url",
    "token_auth", "scopes", "pkce", "fields", "find_url", "verify",
)  # fmt: skip
