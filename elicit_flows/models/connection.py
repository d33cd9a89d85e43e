"""A user's account at a provider, or what they typed, for one agent. Written by the vault alone."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.provider import Provider
from elicit_flows.values import Claim, Json


def new_id() -> str:
    return ids.name("cn")


class Connection(models.Model):
    """``generation`` counts token sets: whoever writes tokens must name the generation it read.

    ``own_client``: what the user typed (``secrets``) is a client of their own at the provider (RFC 6749, section 4.4).
    It is kept to ask for tokens with, and no agent ever gets it, whatever becomes of the provider's configuration.

    ``refresh_started_at`` is set from the claim of a refresh until one succeeds; ``refresh_due_at`` is when the worker
    looks at it next; ``last_refresh_error`` a code of ours or of OAuth's.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        REAUTHORIZATION_REQUIRED = "reauthorization_required"
        REVOKED = "revoked"

    class Upstream(models.TextChoices):
        NONE = "none"
        PENDING = "pending"  # the provider has yet to be told
        DONE = "done"
        FAILED = "failed"  # told many times, never understood

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    agent = models.ForeignKey(Agent, models.CASCADE)
    provider = models.ForeignKey(Provider, models.PROTECT, null=True)  # None: typed, no preset
    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    status = models.CharField(max_length=32, choices=Status.choices, default=Status.ACTIVE)
    account_id = models.CharField(max_length=255, blank=True)
    account_label = models.CharField(max_length=255, blank=True)
    scopes = models.JSONField(default=list)
    token_type = models.CharField(max_length=32, default="Bearer")
    access_token = models.TextField(blank=True, editable=False)
    refresh_token = models.TextField(blank=True, editable=False)
    dpop_key = models.TextField(blank=True, editable=False, default="", db_default="")
    secrets = models.TextField(blank=True, editable=False)
    own_client = models.BooleanField(default=False, db_default=False, editable=False)
    issued_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(null=True)
    generation = models.PositiveIntegerField(default=1)
    refresh_lease_until = models.DateTimeField(null=True)
    refresh_fence = models.PositiveIntegerField(default=0)
    refresh_started_at = models.DateTimeField(null=True)
    refresh_failures = models.PositiveIntegerField(default=0, db_default=0)
    last_refresh_error = models.CharField(max_length=64, blank=True, default="", db_default="")
    refresh_due_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=now)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    upstream = models.CharField(max_length=16, choices=Upstream.choices, default=Upstream.NONE)
    upstream_tries = models.PositiveIntegerField(default=0)
    upstream_next_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "iss", "sub", "provider", "account_id"],
                condition=~models.Q(status="revoked"),
                name="one_live_connection_per_account",
            ),
        ]
        indexes = [
            models.Index(fields=["iss", "sub"], name="connection_owner"),
            # an operator who looks for one person, and the grants of a month
            models.Index(fields=["sub"], name="connection_person"),
            models.Index(fields=["created_at"], name="connection_month"),
            models.Index(
                fields=["upstream_next_at"], name="connection_upstream", condition=models.Q(upstream="pending")
            ),
            # "due before now" says of itself that it is not null, so that both databases take it for every look
            models.Index(
                fields=["refresh_due_at"], name="connection_due", condition=models.Q(refresh_due_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def typed(self) -> bool:
        """Whether it holds credentials that the user typed for the agent to read, and no tokens."""
        return not self.own_client and (self.provider is None or self.provider.sort == Provider.Sort.CREDENTIALS)

    @property
    def renewable(self) -> bool:
        """Whether there is something to get the next token with."""
        return bool(self.refresh_token) or self.own_client

    @property
    def account(self) -> Json | None:
        return {"id": self.account_id, "label": self.account_label} if self.account_id else None

    @property
    def health(self) -> str:
        """``ok``, or what is wrong: ``failing`` (the provider was asked in vain; it is asked again), ``expired``
        (nothing to refresh it with), else the status that ended it.
        """
        return self.health_if(self.renewable)

    def health_if(self, renewable: bool) -> str:
        """The same for who does not read the tokens."""
        if self.status != self.Status.ACTIVE:
            return self.status
        if self.refresh_failures:
            return "failing"
        over = self.expires_at is not None and self.expires_at <= now()
        return "expired" if over and not renewable else "ok"

    def summary(self) -> Json:
        """The connection as the API says it: no token, no sealed text."""
        return {
            "id": self.id,
            "object": "connection",
            "provider": self.provider.slug if self.provider else None,
            "subject": {"iss": self.iss, "sub": self.sub},
            "status": self.status,
            "health": self.health,
            "scopes": self.scopes,
            "account": self.account,
            "created_at": rfc3339(self.created_at),
            "expires_at": rfc3339(self.expires_at),
            "next_refresh_at": rfc3339(self.refresh_due_at),
            "last_refresh_error": self.last_refresh_error or None,
            "last_used_at": rfc3339(self.last_used_at),
            "revoked_at": rfc3339(self.revoked_at),
        }
