"""Identity providers, which sign users in, and providers, which users connect to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows import catalogue
from elicit_flows.catalogue.parts import Variable
from elicit_flows.domain.values import MAX_ISSUER, Json, ScopeWords
from elicit_flows.models.picture import Picture
from elicit_flows.oauth import PLAIN, DeadGrant, Quirks


class IdentityProvider(models.Model):
    """A way to sign users in. ``sort``: an OpenID provider, an agent's own site, a proxy with signed headers, or local
    accounts.

    ``client_id``, ``client_secret`` (sealed by the vault), ``scopes`` and ``introspect`` are for OpenID.
    ``config_file.identity_providers`` says which other column belongs to which sort.

    ``managed_hosts``: the hosts of remote MCP servers to which it lets people, see ``vault.managed``.
    ``managed_refusal``: what follows when it does not, ``page`` (the person connects as usual) or ``fail``.
    """

    class Sort(models.TextChoices):
        OPENID = "openid"
        SITE = "site"
        PROXY = "proxy"
        ACCOUNTS = "accounts"

    slug = models.SlugField(_("slug"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=100, blank=True, default="", db_default="")
    icon = models.ForeignKey(Picture, models.PROTECT, verbose_name=_("icon"), null=True, blank=True, related_name="+")
    order = models.PositiveSmallIntegerField(
        _("order"), default=0, db_default=0, help_text=_("Smaller numbers come first.")
    )
    sort = models.CharField(_("type"), max_length=16, default=Sort.OPENID, db_default=Sort.OPENID)
    issuer = models.CharField(_("issuer"), max_length=MAX_ISSUER, unique=True)
    client_id = models.CharField(_("client ID"), max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    bound_to = models.JSONField(default=dict, db_default={}, editable=False)
    scopes = models.JSONField(_("scopes"), default=list)
    max_age = models.PositiveIntegerField(
        _("maximum age of the sign-in"),
        null=True,
        blank=True,
        help_text=_("In seconds. Somebody who signed in there longer ago has to sign in again."),
    )
    introspect = models.BooleanField(
        _("ask about access tokens"),
        default=False,
        db_default=False,
        help_text=_("Ask the identity provider about every access token that an agent shows (RFC 7662)."),
    )
    sign_in_url = models.CharField(_("sign-in URL"), max_length=1000, blank=True, default="", db_default="")
    jwks_url = models.CharField(_("JWKS URL"), max_length=1000, blank=True, default="", db_default="")
    keys = models.JSONField(_("keys"), default=list, db_default=[], blank=True)
    header = models.CharField(_("header"), max_length=100, blank=True, default="", db_default="")
    audiences = models.JSONField(_("audiences"), default=list, db_default=[], blank=True)
    managed_hosts = models.JSONField(_("hosts that it decides about"), default=list, db_default=[], blank=True)
    managed_refusal = models.CharField(
        _("when the organisation refuses"), max_length=8, default="page", db_default="page"
    )
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("identity provider")
        verbose_name_plural = _("identity providers")

    def __str__(self) -> str:
        return self.slug


class Provider(models.Model):
    """What users connect to: an OAuth provider, or one whose credentials they type (``sort`` is named like the kind).

    ``client_secret`` is sealed by the vault. ``fields``, ``find_url`` and ``verify`` are for credentials, see
    ``kinds.credentials.config``. The columns above them are for OAuth; ``token_url``, ``token_auth``, ``scopes`` and
    ``resources`` are also for credentials that are an OAuth client of the person's own.

    ``bound_to``: the hosts that ``client_secret`` may be sent to, see ``vault.provider_settings``.

    ``app_key`` (sealed): the private key of an app that people install, which signs requests for the tokens of its
    installations.

    ``mcp``: the address of a remote MCP server that a person went to, as an agent wrote it. Nobody configured such a
    row: what is in it was discovered, see ``vault.mcp_servers``. ``client_slug`` names the authorization server, with
    which this service has one client for all its MCP servers. ``default_scopes``: requested if an agent names none.

    ``managed_by``: the slug of the identity provider that lets people there, "" if none does.

    ``given`` lists what the operator set; all other columns are copied from the preset when the row is written, and
    read from the preset again when they are used. None: the row is older than this list, and all columns count.
    """

    class Sort(models.TextChoices):
        OAUTH = "oauth"
        CREDENTIALS = "credentials"

    slug = models.SlugField(_("slug"), max_length=64, unique=True)
    name = models.CharField(_("name"), max_length=200)
    logo = models.ForeignKey(Picture, models.PROTECT, verbose_name=_("logo"), null=True, blank=True, related_name="+")
    preset = models.CharField(_("preset"), max_length=64, blank=True)
    issuer = models.CharField(_("issuer"), max_length=MAX_ISSUER, blank=True)
    authorize_url = models.CharField(_("authorize URL"), max_length=1000, blank=True)
    token_url = models.CharField(_("token URL"), max_length=1000, blank=True)
    revocation_url = models.CharField(_("revocation URL"), max_length=1000, blank=True)
    userinfo_url = models.CharField(_("userinfo URL"), max_length=1000, blank=True)
    device_authorization_url = models.CharField(
        _("device authorization URL"), max_length=1000, blank=True, default="", db_default=""
    )
    client_id = models.CharField(_("client ID"), max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    app_key = models.TextField(blank=True, editable=False, default="", db_default="")
    bound_to = models.JSONField(default=dict, db_default={}, editable=False)
    token_auth = models.CharField(_("client authentication"), max_length=32, default="client_secret_basic")
    scopes = models.JSONField(_("scopes"), default=list)
    scope_words = models.JSONField(_("scopes in words"), default=dict, db_default={}, blank=True)
    grant = models.CharField(_("grant"), max_length=32, default="authorization_code", db_default="authorization_code")
    pkce = models.CharField(_("PKCE"), max_length=8, default="S256")
    registration = models.CharField(_("registration"), max_length=16, default="off", db_default="off")
    par = models.CharField(_("pushed requests"), max_length=8, default="auto", db_default="auto")
    dpop = models.CharField(_("DPoP"), max_length=8, default="off", db_default="off")
    resources = models.JSONField(_("resources"), default=list, db_default=[], blank=True)
    sort = models.CharField(_("type"), max_length=16, default=Sort.OAUTH, db_default=Sort.OAUTH)
    fields = models.JSONField(_("fields"), default=list, db_default=[], blank=True)
    find_url = models.CharField(_("where to find it"), max_length=1000, blank=True, default="", db_default="")
    verify = models.JSONField(_("check"), null=True, blank=True)
    given = models.JSONField(null=True, blank=True, editable=False)
    variables = models.JSONField(_("variables"), default=dict, db_default={}, blank=True)
    dead_grant = models.JSONField(_("signs of an ended grant"), default=list, db_default=[], blank=True)
    metadata = models.JSONField(_("metadata"), default=list, db_default=[], blank=True)
    metadata_url = models.CharField(_("metadata URL"), max_length=1000, blank=True, default="", db_default="")
    mcp = models.CharField(_("MCP server"), max_length=1000, blank=True, default="", db_default="", editable=False)
    client_slug = models.SlugField(max_length=64, blank=True, default="", db_default="", editable=False)
    default_scopes = models.JSONField(default=list, db_default=[], editable=False)
    api_urls = models.JSONField(_("API addresses"), default=list, db_default=[], blank=True)
    managed_by = models.CharField(_("managed by"), max_length=64, blank=True, default="", db_default="")
    enabled = models.BooleanField(_("enabled"), default=True)
    # What one person named in the addresses, see ``vault.for_person``. It is not stored.
    named: Mapping[str, str] = MappingProxyType({})

    class Meta:
        verbose_name = _("provider")
        verbose_name_plural = _("providers")

    def __str__(self) -> str:
        return self.name

    def settings(self) -> Json:
        """The current values under the names of the configuration: the operator's, or else today's from the preset.

        If the preset is gone or cannot be filled in, the values from when the row was written are used.
        """
        values: Json = {name: getattr(self, name) for name in SETTINGS}
        entry = catalogue.find(self.preset) if self.preset else None
        if self.given is None or entry is None or entry.sort != self.sort:
            return values
        with suppress(ValueError):
            values |= {name: value for name, value in entry.settings(self.variables).items() if name not in self.given}
        return values

    def open_variables(self) -> tuple[Variable, ...]:
        """The variables of the preset that the operator left to each person."""
        entry = catalogue.find(self.preset) if self.preset and self.sort == self.Sort.OAUTH else None
        return tuple(one for one in entry.variables if one.name not in self.variables) if entry else ()

    def quirks(self, settings: Json | None = None) -> Quirks:
        """The preset's quirks. The operator may override how the provider says that a grant has ended. ``settings``:
        what ``settings`` has just returned.
        """
        entry, found = catalogue.find(self.preset) if self.preset else None, PLAIN
        if entry:
            with suppress(ValueError):
                found = entry.oddities(self.variables)
        return replace(found, dead_grant=tuple(map(DeadGrant.of, (settings or self.settings())["dead_grant"])))

    def is_told(self) -> bool:
        """Whether it can be told that a grant has ended, as far as its settings say: metadata of an issuer may."""
        said = self.settings()
        return bool(said["revocation_url"] or said["issuer"] or self.quirks(said).revoke_call)

    def removal_page(self) -> str:
        """Where people end the access at the provider themselves; "" if that is not known."""
        entry = catalogue.find(self.preset) if self.preset else None
        return entry.removal.url if entry and entry.removal else ""

    def words_of_scopes(self) -> ScopeWords:
        """What its scopes allow, in words: the preset's in English, the operator's by language ("": not known)."""
        entry = catalogue.find(self.preset) if self.preset else None
        own = {name: {"": said} if isinstance(said, str) else said for name, said in self.scope_words.items()}
        return {**(entry.scopes.words if entry else {}), **own}


SETTINGS = (
    "name", "issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url", "device_authorization_url",
    "token_auth", "scopes", "pkce", "dead_grant", "metadata", "metadata_url", "api_urls",
    "fields", "find_url", "verify",
)  # fmt: skip


class Registration(models.Model):
    """Our registration at a provider. ``client_secret`` is sealed by the vault.

    It belongs to a provider, or, for all MCP servers that name the same authorization server, to that ``issuer``.

    If ``registered_at`` is None, a process is registering us, at most until ``lease_until``.
    """

    provider = models.OneToOneField(Provider, models.CASCADE, null=True, related_name="registered")
    issuer = models.CharField(max_length=MAX_ISSUER, null=True, unique=True)
    client_id = models.CharField(max_length=500, blank=True)
    client_secret = models.TextField(blank=True, editable=False)
    bound_to = models.JSONField(default=dict, db_default={}, editable=False)  # see vault.provider_settings
    token_auth = models.CharField(max_length=32, blank=True)
    registered_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField()

    class Meta:
        verbose_name = _("registration at a provider")
        verbose_name_plural = _("registrations at providers")
