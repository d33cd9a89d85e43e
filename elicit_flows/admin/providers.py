"""What users connect to; and what it has in common with who signs them in: a client secret."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.admin.fields import Lines, NewSecret, address, rule
from elicit_flows.admin.switching import Switched
from elicit_flows.configure import credentials
from elicit_flows.configure import values as rules
from elicit_flows.configure.crossing import provider_faults
from elicit_flows.configure.sorts import OF_CREDENTIALS, OF_OAUTH, Sort, fields_of, sort_faults
from elicit_flows.configure.tables import DPOPS, MOST_RESOURCES, PARS, PKCES, REGISTRATIONS, TOKEN_AUTHS
from elicit_flows.lib.clock import rfc3339
from elicit_flows.models import Provider
from elicit_flows.models.provider import SETTINGS
from elicit_flows.values import Secret


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    """A row with a client secret."""

    new_client_secret = NewSecret(label=_("Client secret"))
    forget_client_secret = forms.BooleanField(
        label=_("Forget the client secret"), required=False, help_text=_("For a public client, which has none.")
    )

    def secret(self) -> Secret | None:
        """What was typed."""
        typed = self.cleaned_data.get("new_client_secret")
        return Secret(typed) if typed else None

    def put_secret(self) -> None:
        """On the row; the caller saves it."""
        if self.secret() or self.cleaned_data["forget_client_secret"]:
            vault.seal_client_secret(self.instance, self.secret())

    def will_have_secret(self) -> bool:
        kept = bool(self.instance.client_secret) and not self.cleaned_data.get("forget_client_secret")
        return kept or self.secret() is not None


_PRESET = {"token_auth", "pkce", "par", "dpop", "registration"}  # a menu always says something


class ProviderForm(ClientForm):
    sort = forms.ChoiceField(
        choices=[(str(one), str(one)) for one in Sort], required=False, help_text=_("It stays as it is made.")
    )
    issuer = address(rules.issuer, "Issuer", help_text=_("For discovery: addresses left empty are asked for there."))
    authorize_url = address(rules.url, "Authorize URL")
    token_url = address(rules.url, "Token URL")
    revocation_url = address(rules.url, "Revocation URL")
    userinfo_url = address(rules.url, "Userinfo URL")
    token_auth = forms.ChoiceField(choices=[(one, one) for one in TOKEN_AUTHS])
    scopes = Lines(
        validators=[rule(rules.list_of(rules.scope))],
        help_text=_("Always asked for, beside those that an agent asks for. One to a line."),
    )
    pkce = forms.ChoiceField(
        label="PKCE",
        choices=[(one, one) for one in PKCES],
        help_text=_("Off only for a provider that refuses it: whoever gets hold of a code can redeem it."),
    )

    registration = forms.ChoiceField(
        choices=[(one, one) for one in REGISTRATIONS],
        help_text=_("Dynamic: this service registers itself. Document: the provider reads who we are at our address."),
    )
    par = forms.ChoiceField(
        label=_("Pushed requests"),
        choices=[(one, one) for one in PARS],
        initial="auto",
        help_text=_("Auto: where the provider offers them (RFC 9126). Off only for one that does it badly."),
    )
    dpop = forms.ChoiceField(
        label="DPoP",
        choices=[(one, one) for one in DPOPS],
        help_text=_(
            "Required: tokens are bound to a key that stays here, and agents ask for a proof for each request."
        ),
    )
    resources = Lines(
        validators=[rule(rules.list_of(rules.resource, most=MOST_RESOURCES))],
        help_text=_("What tokens are to be for (RFC 8707). One URI to a line."),
    )

    # Django's metaclass takes the name away from the class, so that the form's own ``fields`` is as ever.
    fields = forms.JSONField(  # type: ignore[assignment]
        required=False, validators=[rule(credentials.credential_fields)]
    )
    find_url = address(credentials.find_url, "Find URL", help_text=_("Where people find what to type."))
    verify = forms.JSONField(required=False, validators=[rule(credentials.verify)])

    def clean_fields(self) -> list[Any]:
        given = self.cleaned_data["fields"]
        return credentials.credential_fields(given) if given else []

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors:
            told = {**values, "client_secret": self.secret(), "sort": values.get("sort") or self.instance.sort}
            values["fields"] = told["fields"] = fields_of(told)
            given = [name for name in (*OF_OAUTH, *OF_CREDENTIALS) if told[name] and name not in _PRESET]
            faults = [*sort_faults(told["sort"], given), *provider_faults(told, has_secret=self.will_have_secret())]
            for name, message in faults:
                self.add_error("new_client_secret" if name == "client_secret" else name, f"It {message}.")
        return values


class ClientAdmin(Switched):
    """The slug stands in the redirect URI and in the seal of the secret, so it stays as it was made."""

    readonly_fields: ClassVar[tuple[str, ...]] = ("redirect_uri", "has_client_secret")
    redirect_path = ""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "slug") if obj else self.readonly_fields

    @admin.display(description=_("Redirect URI"))
    def redirect_uri(self, row: Any) -> str:
        return settings.ELICIT_PUBLIC_URL + self.redirect_path.format(row.slug) if row.pk else "-"

    @admin.display(description=_("Has a client secret"), boolean=True)
    def has_client_secret(self, row: Any) -> bool:
        return bool(row.client_secret)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.put_secret()
        super().save_model(request, obj, form, change)


class ProviderAdmin(ClientAdmin):
    """A preset's provider is shown as it is today; what an operator changes is theirs from then on."""

    form = ProviderForm
    when_off = _(
        "No agent can ask for it, nobody is sent there, and none of its tokens is given out. The connections stay, "
        "and work again when it is on."
    )
    list_display = ("slug", "name", "sort", "client_id", "pkce", "enabled")
    readonly_fields = (*ClientAdmin.readonly_fields, "preset", "variables", "overridden", "registered_as")
    redirect_path = "/callback/{}"
    fieldsets = (
        (None, {"fields": ("slug", "sort", "name", "preset", "variables", "overridden", "enabled")}),
        (_("For OAuth"), {"fields": (
            "redirect_uri", "issuer", "authorize_url", "revocation_url", "userinfo_url", "client_id",
            "has_client_secret", "new_client_secret", "forget_client_secret", "pkce", "par", "dpop",
            "registration", "registered_as",
        )}),
        (_("For credentials"), {"fields": ("fields", "find_url", "verify")}),
        (_("Tokens"), {
            "fields": ("token_url", "token_auth", "scopes", "resources"),
            "description": _("For OAuth, and for credentials that are a client of the person's own: then agents get "
                             "its tokens alone, and the fields above can be left empty."),
        }),
    )  # fmt: skip

    @admin.display(description=_("Registered as"))
    def registered_as(self, row: Provider) -> str:
        """What the provider knows this service by, where that is not the operator's to say."""
        if row.registration == "document":
            return vault.oauth(row).client_id
        known = vault.registration_of(row)
        return f"{known.client_id} ({rfc3339(known.registered_at)})" if known else "-"

    @admin.display(description=_("Overrides the preset"))
    def overridden(self, row: Provider) -> str:
        return ", ".join(row.given or ()) or "-"

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if isinstance(row, Provider):
            for name, value in row.settings().items():
                setattr(row, name, value)
        return row

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if obj.given is not None:
            obj.given = [name for name in SETTINGS if name in obj.given or name in form.changed_data]
        super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """People's connections hang on the sort."""
        return (*super().get_readonly_fields(request, obj), *(("sort",) if obj else ()))
