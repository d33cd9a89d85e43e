"""A user's account at a provider, or the credentials that they typed, for one agent. Written by the vault only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.provider import Provider


class Connection(models.Model):
    """``generation`` counts token sets: to write tokens, name the generation that was read.

    ``own_client``: the typed credentials (``secrets``) are an OAuth client of the user's own (RFC 6749, section 4.4).
    They are used to fetch tokens, and no agent ever gets them, however the provider's configuration changes.

    ``bound_to``: the hosts that its tokens may be sent to, see ``vault.provider_settings``.

    ``account_id`` is the provider's id of the account, "" if the provider does not give one. Several such connections
    of one person are told apart by ``unnamed``: "" for the first, their own id for the others, because the person said
    that they belong to other accounts. So are those with one id at several sites (``variables``).

    ``metadata``: what the provider said beside the tokens, by the names of its entry. Nothing of it is secret.
    ``variables``: what the person named in the provider's addresses, such as their shop.

    ``resource``: the only resource that its tokens are for (RFC 8707), "" if the provider was not asked for one token
    for each.

    ``managed_by``: the slug of the identity provider that let the person there and is asked for each token, "" if the
    person connected it themselves.

    ``minted`` (sealed): the tokens of installations that were issued for this connection and have not expired, see
    ``vault.installation_tokens``.

    ``set_tokens`` (sealed): the tokens of other scope sets, such as the user's beside the app's, see
    ``vault.set_tokens``. ``expires_at`` is when the first of all tokens expires.

    ``refresh_started_at`` is set from the claim of a refresh until one succeeds. ``refresh_due_at`` is when the worker
    looks at it next. ``last_refresh_error`` is a code of ours or of OAuth. ``refresh_refusals`` counts the refusals
    since ``refused_since`` that may mean that the grant has ended. ``reported_generation`` is that of the token which
    the agent reported as refused.
    """

    class Status(models.TextChoices):
        ACTIVE = "active", pgettext_lazy("status", "Active")
        REAUTHORIZATION_REQUIRED = "reauthorization_required", pgettext_lazy("status", "Reauthorization required")
        REVOKED = "revoked", pgettext_lazy("status", "Revoked")

    class Upstream(models.TextChoices):
        NONE = "none", pgettext_lazy("status", "Not needed")
        PENDING = "pending", pgettext_lazy("status", "Pending")  # still to be revoked at the provider
        DONE = "done", pgettext_lazy("status", "Done")
        FAILED = "failed", pgettext_lazy("status", "Failed")  # the provider did not accept it, after many attempts

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "cn"))
    agent = models.ForeignKey(Agent, models.CASCADE, verbose_name=_("agent"), db_index=False)  # the list begins with it
    # None: typed, no preset
    provider = models.ForeignKey(Provider, models.PROTECT, verbose_name=_("provider"), null=True)
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    status = models.CharField(_("status"), max_length=32, choices=Status.choices, default=Status.ACTIVE)
    account_id = models.CharField(_("account ID"), max_length=255, blank=True)
    unnamed = models.CharField(max_length=64, blank=True, editable=False, default="", db_default="")
    account_label = models.CharField(_("account"), max_length=255, blank=True)
    scopes = models.JSONField(_("scopes"), default=list)
    token_type = models.CharField(_("token type"), max_length=32, default="Bearer")
    access_token = models.TextField(blank=True, editable=False)
    refresh_token = models.TextField(blank=True, editable=False)
    dpop_key = models.TextField(blank=True, editable=False, default="", db_default="")
    token_secret = models.TextField(blank=True, editable=False, default="", db_default="")  # OAuth 1.0a
    secrets = models.TextField(blank=True, editable=False)
    minted = models.TextField(blank=True, editable=False, default="", db_default="")
    set_tokens = models.TextField(blank=True, editable=False, default="", db_default="")
    own_client = models.BooleanField(_("user's own OAuth client"), default=False, db_default=False, editable=False)
    bound_to = models.JSONField(default=dict, db_default={}, editable=False)
    metadata = models.JSONField(_("metadata"), default=dict, db_default={}, editable=False)
    variables = models.JSONField(_("variables"), default=dict, db_default={}, editable=False)
    resource = models.CharField(_("resource"), max_length=1000, blank=True, default="", db_default="", editable=False)
    managed_by = models.CharField(_("managed by"), max_length=64, blank=True, default="", db_default="", editable=False)
    issued_at = models.DateTimeField(_("token issued at"), default=now)
    expires_at = models.DateTimeField(_("token expires at"), null=True)
    generation = models.PositiveIntegerField(_("number of tokens"), default=1)
    refresh_lease_until = models.DateTimeField(null=True)
    refresh_fence = models.PositiveIntegerField(default=0)
    refresh_started_at = models.DateTimeField(_("refresh started at"), null=True)
    refresh_failures = models.PositiveIntegerField(_("failed refreshes in a row"), default=0, db_default=0)
    refresh_refusals = models.PositiveIntegerField(_("refused refreshes in a row"), default=0, db_default=0)
    refused_since = models.DateTimeField(_("refused since"), null=True)
    reported_generation = models.PositiveIntegerField(null=True)
    last_refresh_error = models.CharField(_("last refresh error"), max_length=64, blank=True, default="", db_default="")
    refresh_due_at = models.DateTimeField(_("next refresh at"), null=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    last_used_at = models.DateTimeField(_("last used at"), null=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True)
    upstream = models.CharField(
        _("revocation at the provider"), max_length=16, choices=Upstream.choices, default=Upstream.NONE
    )
    upstream_tries = models.PositiveIntegerField(_("tries to revoke at the provider"), default=0)
    upstream_next_at = models.DateTimeField(_("next try to revoke at the provider"), null=True)

    class Meta:
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "iss", "sub", "provider", "account_id", "unnamed"],
                condition=~models.Q(status="revoked"),
                name="one_live_connection_per_account",
            ),
        ]
        indexes = [
            # the agent's list, newest first, and by its filters
            models.Index(fields=["agent", "-created_at", "-id"], name="connection_list"),
            models.Index(fields=["agent", "status", "-created_at", "-id"], name="connection_status"),
            models.Index(fields=["agent", "provider", "-created_at", "-id"], name="connection_provider"),
            # a person's: what has not ended, and what has, the last ended first
            models.Index(fields=["iss", "sub", "-revoked_at", "-id"], name="connection_owner"),
            # the agent's list of one person, in its order: else PostgreSQL may read all of the list
            models.Index(fields=["sub", "agent", "-created_at", "-id"], name="connection_person"),
            # operators search by the name of an account, and for the grants of a month
            models.Index(fields=["account_label"], name="connection_account"),
            models.Index(fields=["created_at"], name="connection_month"),
            # the worker's: what each provider is to be told, oldest first
            models.Index(
                fields=["provider", "upstream_next_at"],
                name="connection_upstream",
                condition=models.Q(upstream="pending"),
            ),
            # the worker's: what is due of each agent at each provider. "Due before now" implies "not null", so both
            # databases use this index for it
            models.Index(
                fields=["provider", "agent", "refresh_due_at"],
                name="connection_due",
                condition=models.Q(refresh_due_at__isnull=False),
            ),
            # what an operator should look at
            models.Index(fields=["provider"], name="connection_failing", condition=models.Q(refresh_failures__gt=0)),
            # the purge
            models.Index(fields=["revoked_at"], name="connection_purge", condition=models.Q(status="revoked")),
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
        """Whether it can get another token."""
        return bool(self.refresh_token or self.managed_by) or self.own_client

    @property
    def reported(self) -> bool:
        """Whether the agent reported that the provider refuses the current token."""
        return self.reported_generation == self.generation

    @property
    def withheld(self) -> bool:
        """Whether the provider refuses both the token and, so far, the refresh token. Agents then get no token."""
        return self.reported and self.refresh_refusals > 0

    @property
    def account(self) -> Json | None:
        return {"id": self.account_id, "label": self.account_label} if self.account_id else None

    def is_at(self, variables: Mapping[str, str]) -> bool:
        """Whether it is at the shop, site or tenant that ``variables`` name. Each may count its accounts by itself."""
        return all(self.variables.get(name, value) == value for name, value in variables.items())

    @property
    def label(self) -> str:
        """What people can recognise it by: the account's name, or, if the provider gives none, when it was
        connected.
        """
        if self.account_label or self.typed or self.own_client:
            return self.account_label
        return f"connected on {self.created_at.astimezone(UTC):%-d %B %Y, %H:%M} UTC"

    @property
    def health(self) -> str:
        """``ok``, ``failing`` (the last refresh failed; it is retried), ``expired`` (it cannot be refreshed), or the
        status that ended it.
        """
        return self.health_if(self.renewable)

    def health_if(self, renewable: bool) -> str:
        """The same, for callers that have not loaded the tokens."""
        if self.status != self.Status.ACTIVE:
            return self.status
        if self.refresh_failures:
            return "failing"
        over = self.expires_at is not None and self.expires_at <= now()
        return "expired" if over and not renewable else "ok"

    def summary(self) -> Json:
        """The connection as the API returns it, without tokens or sealed text."""
        return {
            "id": self.id,
            "object": "connection",
            "provider": self.provider.slug if self.provider else None,
            "subject": {"iss": self.iss, "sub": self.sub},
            "status": self.status,
            "health": self.health,
            "scopes": self.scopes,
            "account": self.account,
            "label": self.label,
            "metadata": self.metadata,
            "variables": self.variables,
            "mcp": (self.provider.mcp or None) if self.provider else None,
            "resource": self.resource or None,
            "created_at": rfc3339(self.created_at),
            "expires_at": rfc3339(self.expires_at),
            "next_refresh_at": rfc3339(self.refresh_due_at),
            "last_refresh_error": self.last_refresh_error or None,
            "last_used_at": rfc3339(self.last_used_at),
            "revoked_at": rfc3339(self.revoked_at),
        }


class PendingGrant(models.Model):
    """A grant that waits for the person's decision, at most until ``expires_at``.

    From ``give_back_at`` on it is revoked at the provider. ``grant`` is sealed by the vault. ``connection`` is the one
    that was to be connected again, if any.
    """

    id = models.CharField(max_length=64, primary_key=True, default=partial(ids.name, "hg"))
    elicitation = models.ForeignKey(Elicitation, models.CASCADE)
    connection = models.ForeignKey(Connection, models.CASCADE, null=True)
    account_id = models.CharField(max_length=255, blank=True)
    account_label = models.CharField(max_length=255, blank=True)
    grant = models.TextField(editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    give_back_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("grant to be revoked")
        verbose_name_plural = _("grants to be revoked")


class ConnectionCall(models.Model):
    """``count`` calls of the provider's API through this service, alike but for ids, within the hour that begins at
    ``hour``.

    ``path`` is a template without query, whose ids are replaced; "" stands for all paths beyond the number that is
    kept for an hour. ``status`` is the API's; 0 if it gave no usable answer.
    """

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="calls", db_index=False)
    method = models.CharField(max_length=8)
    host = models.CharField(max_length=255)
    path = models.CharField(max_length=200, blank=True)
    status = models.PositiveSmallIntegerField()
    hour = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        verbose_name = _("call of an API")
        verbose_name_plural = _("calls of APIs")
        constraints = [
            models.UniqueConstraint(
                fields=["connection", "hour", "method", "host", "path", "status"], name="one_call_per_hour"
            ),
        ]
        indexes = [models.Index(fields=["last_at"], name="call_purge")]

    def __str__(self) -> str:
        return f"{self.method} {self.host}{self.path} {self.connection_id}"

    def said(self) -> Json:
        """The calls in a person's data export."""
        return {
            "method": self.method,
            "host": self.host,
            "path": self.path,
            "status": self.status,
            "count": self.count,
            "first_at": rfc3339(self.first_at),
            "last_at": rfc3339(self.last_at),
        }


class ConnectionUse(models.Model):
    """``count`` times ``action`` within the hour that begins at ``hour``.

    Fetches count at most once a minute, so their ``count`` is the number of minutes with a fetch
    (docs/reference/account-pages.md).
    """

    class Action(models.TextChoices):
        CONNECTED = "connected"  # or connected again
        FETCHED = "fetched"  # an access token
        OPENED = "opened"  # credentials that the user typed
        CALLED = "called"  # the provider's API, through this service
        REFRESHED = "refreshed"
        REPORTED = "reported"  # as refused by the provider
        LAPSED = "lapsed"  # the provider ended the grant
        REVOKED = "revoked"

    class Actor(models.TextChoices):
        AGENT = "agent"
        PERSON = "person"
        OPERATOR = "operator"
        PROVIDER = "provider"
        SERVICE = "service"

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="uses", db_index=False)
    action = models.CharField(max_length=16, choices=Action.choices)
    actor = models.CharField(max_length=16, choices=Actor.choices)
    hour = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField(default=now)
    last_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("use of a connection")
        verbose_name_plural = _("uses of connections")
        constraints = [
            models.UniqueConstraint(fields=["connection", "hour", "action", "actor"], name="one_use_per_hour"),
        ]
        indexes = [models.Index(fields=["last_at"], name="use_purge")]

    def __str__(self) -> str:
        return f"{self.action} {self.connection_id}"

    def said(self) -> Json:
        """The use in a person's data export."""
        return {
            "action": str(self.action),
            "by": str(self.actor),
            "count": self.count,
            "first_at": rfc3339(self.first_at),
            "last_at": rfc3339(self.last_at),
        }
