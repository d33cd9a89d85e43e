"""The admin page of an identity provider: who signs people in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.forms import ClientForm, JsonListField, LinesField, address_field
from elicit_flows.admin.pictures import PictureField
from elicit_flows.admin.providers import ClientAdmin
from elicit_flows.config_file.identity_providers import Type


class IdentityProviderForm(ClientForm):
    table = "identity_provider"

    name = forms.CharField(
        label=_("Name"), required=False, max_length=100, help_text=_("On the button of the sign-in page.")
    )
    icon = PictureField(label=_("Icon"))
    order = forms.IntegerField(
        label=_("Place"), required=False, min_value=0, help_text=_("On the sign-in page. Smaller numbers come first.")
    )
    sort = forms.ChoiceField(
        label=_("Type"),
        choices=[(str(name), str(name)) for name in Type],
        required=False,
        help_text=_("It cannot be changed later."),
    )
    issuer = address_field(
        _("Issuer"),
        required=True,
        help_text=_("It cannot be changed later. For accounts of this service: its own public address."),
    )
    scopes = LinesField(label=_("Scopes"), initial=["openid"], help_text=_("One per line."))
    sign_in_url = address_field(
        _("Sign-in URL"),
        help_text=_("The page of the site that signs the person in and sends a signed assertion back."),
    )
    jwks_url = address_field(_("JWKS URL"), help_text=_("The address of its public keys. Or give the keys below."))
    keys = JsonListField(label=_("Keys"), help_text=_("Its public keys, as a list of JWKs."))
    header = address_field(_("Header"), help_text=_("The request header in which the proxy sends its signed token."))
    audiences = LinesField(
        label=_("Audiences"), help_text=_("The names by which the proxy knows this service. One per line.")
    )

    managed_hosts = LinesField(
        label=_("Hosts that it decides about"),
        help_text=_(
            "Hosts of remote MCP servers, such as mcp.example.com or *.example.com: the identity provider says who may "
            "use them, and nobody is sent there (enterprise-managed authorization). * is any host. One per line."
        ),
    )
    managed_refusal = forms.ChoiceField(
        label=_("When the organisation refuses"),
        choices=[(name, name) for name in ("page", "fail")],
        initial="page",
        required=False,
        help_text=_("Page: the person can connect as usual. Fail: they cannot connect in another way."),
    )

    def clean_managed_refusal(self) -> str:
        return self.cleaned_data["managed_refusal"] or "page"

    def clean_order(self) -> int:
        return self.cleaned_data["order"] or 0

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if not self.errors:
            self.add_conflicts({"client_secret": self.client_secret()})
        return values


class IdentityProviderAdmin(ClientAdmin):
    form = IdentityProviderForm
    when_off = _("Nobody can sign in through it. People who are signed in through it can open nothing any more.")
    list_display = ("enabled", "slug", "name", "icon", "order", "sort", "issuer", "client_id")
    list_display_links = ("slug",)
    redirect_path = "/login/{}/callback"
    fieldsets = (
        (None, {"fields": ("slug", "name", "icon", "order", "sort", "issuer", "max_age", "enabled")}),
        (_("For OpenID Connect"), {"fields": (
            "redirect_uri", "client_id", "has_client_secret", "new_client_secret", "forget_client_secret", "scopes",
            "introspect", "managed_hosts", "managed_refusal",
        )}),
        (_("For a site that signs in its own users"), {"fields": ("sign_in_url",)}),
        (_("For a proxy that signs people in"), {"fields": ("header", "audiences")}),
        (_("For a site or a proxy"), {"fields": ("jwks_url", "keys")}),
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The issuer and the type say who people are, so they cannot change (threat T132)."""
        return (*super().get_readonly_fields(request, obj), *(("sort", "issuer") if obj else ()))
