"""Who says who is in the browser."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.fields import Lines, address, rule
from elicit_flows.admin.provider_form import ClientForm
from elicit_flows.admin.providers import ClientAdmin
from elicit_flows.configure import values as rules
from elicit_flows.configure.identities import OF_SORTS, Sort, header, identity_faults, public_keys

_USUAL = {"scopes": ["openid"]}  # as the form has it from the start


class IdentityProviderForm(ClientForm):
    sort = forms.ChoiceField(
        choices=[(str(one), str(one)) for one in Sort], required=False, help_text=_("It stays as it is made.")
    )
    issuer = address(
        rules.issuer, "Issuer", required=True, help_text=_("For accounts of this service's own: its public address.")
    )
    scopes = Lines(validators=[rule(rules.openid_scopes)], initial=["openid"], help_text=_("One to a line."))
    sign_in_url = address(
        rules.return_url, "Sign-in URL", help_text=_("Where the site finds out who is there, and vouches for them.")
    )
    jwks_url = address(rules.url, "JWKS URL", help_text=_("Where its public keys are, or else the keys below."))
    keys = forms.JSONField(required=False, validators=[rule(public_keys)], help_text=_("Public keys, a list of JWKs."))
    header = address(header, "Header", help_text=_("The request header in which the proxy says who it is."))
    audiences = Lines(
        validators=[rule(rules.list_of(rules.text(500)))],
        help_text=_("The names under which the proxy knows this service. One to a line."),
    )

    def clean_keys(self) -> list[Any]:
        return self.cleaned_data["keys"] or []

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors:
            told = {**values, "client_secret": self.secret(), "sort": values.get("sort") or self.instance.sort}
            given = [name for name in OF_SORTS if told[name] not in (None, "", [], False, _USUAL.get(name))]
            for name, message in identity_faults(told, given):
                self.add_error("new_client_secret" if name == "client_secret" else name, f"It {message}.")
        return values


class IdentityProviderAdmin(ClientAdmin):
    form = IdentityProviderForm
    when_off = _("Nobody signs in through it, and its people can open nothing, also who is signed in now.")
    list_display = ("slug", "sort", "issuer", "client_id", "enabled")
    redirect_path = "/login/{}/callback"
    fieldsets = (
        (None, {"fields": ("slug", "sort", "issuer", "max_age", "enabled")}),
        (_("For OpenID Connect"), {"fields": (
            "redirect_uri", "client_id", "has_client_secret", "new_client_secret", "forget_client_secret", "scopes",
            "introspect",
        )}),
        (_("For a site that vouches for its users"), {"fields": ("sign_in_url",)}),
        (_("For a proxy that signs who it let through"), {"fields": ("header", "audiences")}),
        (_("For a site or a proxy"), {"fields": ("jwks_url", "keys")}),
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """People's connections hang on the sort."""
        return (*super().get_readonly_fields(request, obj), *(("sort",) if obj else ()))
