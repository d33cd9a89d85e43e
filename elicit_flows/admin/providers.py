"""The admin page of a provider, and the client secret that providers and identity providers have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from elicit_flows import catalogue, vault
from elicit_flows.admin.base import SwitchableAdmin
from elicit_flows.admin.forms import ClientForm, JsonListField, LinesField, SecretLines, address_field, shown
from elicit_flows.admin.pictures import PictureField
from elicit_flows.config_file import InvalidValue
from elicit_flows.config_file import providers as rules
from elicit_flows.config_file.schema import DPOPS, GRANTS, PARS, PKCES, REGISTRATIONS, TOKEN_AUTHS
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Secret
from elicit_flows.lib.clock import rfc3339
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Provider
from elicit_flows.models.provider import SETTINGS


class ClientAdmin(SwitchableAdmin):
    """The slug is part of the redirect URI and of the place that the secret is sealed for, so it cannot change."""

    readonly_fields: ClassVar[tuple[str, ...]] = ("redirect_uri", "has_client_secret")
    redirect_path = ""

    @admin.display(description=_("Redirect URI"))
    def redirect_uri(self, row: Any) -> str:
        named = getattr(row, "client_slug", "") or row.slug
        return settings.ELICIT_PUBLIC_URL + self.redirect_path.format(named) if row.pk else "-"

    @admin.display(description=_("Has a client secret"), boolean=True)
    def has_client_secret(self, row: Any) -> bool:
        return bool(row.client_secret)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.set_secret()
        super().save_model(request, obj, form, change)


def _choices(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(str(name), str(name)) for name in names]


class ProviderForm(ClientForm):
    table = "provider"
    secret_fields: ClassVar[dict[str, str]] = {**ClientForm.secret_fields, "app_key": "new_app_key"}

    logo = PictureField(label=_("Logo"))

    sort = forms.ChoiceField(
        label=_("Type"), choices=_choices(rules.Type), required=False, help_text=_("It cannot be changed later.")
    )
    name = forms.CharField(label=_("Name"), max_length=200, required=False)
    preset = forms.ChoiceField(
        label=_("Preset"),
        choices=lambda: [
            ("", "-"),
            *sorted(((one.slug, one.name) for one in catalogue.entries().values()), key=lambda pair: pair[1].lower()),
        ],
        required=False,
        help_text=_(
            "An entry of the catalogue. The settings below that you leave alone follow it, now and after updates. The "
            "preset cannot be changed later."
        ),
    )
    variables = forms.JSONField(
        label=_("Variables"),
        required=False,
        help_text=_('What some presets need for their addresses, such as {"shop": "our-shop"}. They cannot be changed '
                    "later."),
    )  # fmt: skip
    issuer = address_field(
        _("Issuer"), help_text=_("Addresses that you leave empty are read from the metadata of the issuer.")
    )
    authorize_url = address_field(_("Authorize URL"))
    token_url = address_field(_("Token URL"))
    revocation_url = address_field(_("Revocation URL"))
    userinfo_url = address_field(_("Userinfo URL"))
    device_authorization_url = address_field(_("Device authorization URL"), help_text=_("For the grant device_code."))
    token_auth = forms.ChoiceField(
        label=_("Client authentication"), choices=_choices(TOKEN_AUTHS), initial="client_secret_basic"
    )
    scopes = LinesField(
        label=_("Scopes"), help_text=_("Always requested, in addition to those that an agent asks for. One per line.")
    )
    scope_words = forms.JSONField(
        label=_("Scopes in words"),
        required=False,
        help_text=_(
            'What people read of a scope, such as {"files.read": "Read your files"}, or by language: {"files.read": '
            '{"en": "Read your files", "de": "…"}}. A preset has words for its own scopes.'
        ),
    )
    grant = forms.ChoiceField(
        label=_("Grant"),
        choices=_choices(GRANTS),
        help_text=_(
            "Device_code: people type a code at the provider, on any device (RFC 8628). Use it only where nothing else "
            "works: nobody can know who types the code."
        ),
    )
    pkce = forms.ChoiceField(
        label=_("PKCE"),
        choices=_choices(PKCES),
        initial="S256",
        help_text=_("Off only for a provider that refuses it: without PKCE a stolen code can be redeemed."),
    )
    registration = forms.ChoiceField(
        label=_("Registration"),
        choices=_choices(REGISTRATIONS),
        help_text=_("Dynamic: this service registers itself. Document: the provider reads who we are at our address."),
    )
    par = forms.ChoiceField(
        label=_("Pushed requests"),
        choices=_choices(PARS),
        initial="auto",
        help_text=_("Auto: where the provider offers them (RFC 9126). Off only for a provider where they fail."),
    )
    dpop = forms.ChoiceField(
        label=_("DPoP"),
        choices=_choices(DPOPS),
        help_text=_(
            "Required: tokens are bound to a key that stays here, and agents ask for a proof for each request."
        ),
    )
    resources = LinesField(
        label=_("Resources"), help_text=_("The audiences of the tokens (RFC 8707). One URI per line.")
    )
    managed_by = forms.CharField(
        label=_("Managed by"),
        required=False,
        max_length=64,
        help_text=_(
            "The slug of the identity provider that says who may connect, so that nobody is sent to the provider "
            "(enterprise-managed authorization). Empty: people connect themselves."
        ),
    )
    dead_grant = JsonListField(
        label=_("Signs of an ended grant"),
        help_text=_(
            "How the provider reports that a grant has ended, if not with RFC 6749's invalid_grant, such as "
            '[{"status": 400, "path": ["status"], "words": ["BAD_REFRESH_TOKEN"]}].'
        ),
    )
    metadata = JsonListField(
        label=_("Metadata"),
        help_text=_(
            "What is kept of what the provider says beside the tokens, and shown to agents, such as "
            '[{"name": "instance_url", "type": "url", "hosts": ["*.example.com"]}].'
        ),
    )
    metadata_url = address_field(
        _("Metadata URL"), help_text=_("Called once with the new token, for metadata whose from is call.")
    )
    api_urls = LinesField(
        label=_("API addresses"),
        help_text=_(
            "Below these addresses agents may call the API through this service, which adds the credential. The usual "
            "one first. One per line."
        ),
    )
    new_app_key = forms.CharField(
        label=_("App's private key"),
        required=False,
        widget=SecretLines(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("For an app that people install, such as a GitHub App. Leave it empty to keep the present one."),
    )
    forget_app_key = forms.BooleanField(label=_("Delete the app's private key"), required=False)
    # Django's metaclass removes declared fields from the class, so this does not hide the form's own ``fields``.
    fields = JsonListField(label=_("Fields"))  # type: ignore[assignment]
    find_url = address_field(
        _("Where to find it"), help_text=_("The address of the page where people find what they have to type.")
    )
    verify = forms.JSONField(label=_("Check"), required=False)

    def clean_scope_words(self) -> Any:
        return self.cleaned_data["scope_words"] or {}

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not (self.errors or self.instance.pk):
            self._follow_preset(values)
        if not self.errors:
            type_ = values.get("sort") or self.instance.sort
            values["fields"] = rules.fields_or_default({**values, "sort": type_})
            self.add_conflicts({"client_secret": self.client_secret(), "app_key": self.app_key()})
        return values

    def app_key(self) -> Secret | None:
        """The key that the row will have."""
        if typed := self.cleaned_data.get("new_app_key"):
            return Secret(typed)
        try:
            return None if self.cleaned_data.get("forget_app_key") else vault.app_key(self.instance)
        except Unavailable:
            return None

    def set_secret(self) -> None:
        super().set_secret()
        if self.cleaned_data.get("new_app_key") or self.cleaned_data.get("forget_app_key"):
            vault.seal_app_key(self.instance, self.app_key())

    def _follow_preset(self, values: dict[str, Any]) -> None:
        """A new provider gets its preset's values where the operator wrote nothing."""
        values["variables"] = values["variables"] or {}
        written = [name for name in SETTINGS if name in self.changed_data and values[name]]
        try:
            followed = rules.preset_values(values, written)
        except InvalidValue as error:
            self.add_error("variables", shown(sentence("They %(problem)s.", problem=str(error))))
            return
        self.instance.given = followed.pop("given")
        values |= followed
        values["sort"] = rules.provider_type(values["sort"], values["preset"], ())
        if not values["name"]:
            self.add_error("name", _("It is missing; add it, or choose a preset."))

    def _post_clean(self) -> None:
        """A setting that an operator changed no longer follows the preset."""
        if self.instance.pk and self.instance.given is not None:
            given = self.instance.given
            self.instance.given = [name for name in SETTINGS if name in given or name in self.changed_data]
        super()._post_clean()


class ProviderList(ChangeList):
    """Its links lead to the page of the provider, and that to all the settings."""

    def url_for_result(self, result: Model) -> str:
        return reverse("admin:provider", args=[cast(Provider, result).slug])


class ProviderAdmin(ClientAdmin):
    """All the settings of a provider; ``provider_page`` shows those that matter to most.

    The form shows what holds today: the operator's values, and the current ones of the preset.
    """

    form = ProviderForm
    when_off = _(
        "No agent can ask for it, nobody is sent there, and none of its tokens is handed out. The connections stay, "
        "and work again once it is enabled."
    )
    list_display = ("enabled", "slug", "name", "sort", "client_id", "pkce")
    list_display_links = ("slug",)
    readonly_fields = (*ClientAdmin.readonly_fields, "has_app_key", "overridden", "registered_as")
    redirect_path = "/callback/{}"
    fieldsets = (
        (None, {"fields": ("slug", "sort", "name", "logo", "preset", "variables", "overridden", "enabled")}),
        (_("For OAuth"), {"fields": (
            "redirect_uri", "issuer", "authorize_url", "userinfo_url",
            "device_authorization_url", "client_id", "has_client_secret", "new_client_secret", "forget_client_secret",
            "has_app_key", "new_app_key", "forget_app_key",
            "grant", "pkce", "par", "dpop", "registration", "registered_as", "dead_grant",
            "metadata", "metadata_url", "managed_by",
        )}),
        (_("API"), {"fields": ("api_urls",)}),
        (_("For credentials"), {"fields": ("fields", "find_url", "verify")}),
        (_("Tokens"), {
            "fields": ("token_url", "token_auth", "scopes", "scope_words", "resources", "revocation_url"),
            "description": _("For OAuth, and for credentials that are an OAuth client of the person's own. With such a "
                             "client agents get only its tokens, and the fields above can be left empty."),
        }),
    )  # fmt: skip

    @admin.display(description=_("Has the app's private key"), boolean=True)
    def has_app_key(self, row: Provider) -> bool:
        return bool(row.app_key)

    @admin.display(description=_("Registered as"))
    def registered_as(self, row: Provider) -> str:
        """The client ID, where this service registers itself."""
        if row.registration == "document":
            return vault.client_id(row)
        registration = vault.registration_of(row)
        return f"{registration.client_id} ({rfc3339(registration.registered_at)})" if registration else "-"

    @admin.display(description=_("Overrides the preset"))
    def overridden(self, row: Provider) -> str:
        return ", ".join(row.given or ()) or "-"

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was discovered of an MCP server is changed by its next discovery alone."""
        return super().has_change_permission(request, obj) and not (obj and obj.mcp)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ProviderList

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The page that begins with the preset, unless a link asks for all the settings or a form opened a window."""
        if request.method == "GET" and not request.GET and self.has_add_permission(request):
            return HttpResponseRedirect(reverse("admin:provider_add"))
        return super().add_view(request, form_url, extra_context)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if isinstance(row, Provider):
            for name, value in row.settings().items():
                setattr(row, name, value)
        return row

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """People's connections depend on the type and on the preset."""
        return (*super().get_readonly_fields(request, obj), *(("sort", "preset", "variables") if obj else ()))
