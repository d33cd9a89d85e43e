"""What users connect to; and what it has in common with who signs them in: a client secret."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.admin.provider_form import ProviderForm
from elicit_flows.admin.switching import Switched
from elicit_flows.lib.clock import rfc3339
from elicit_flows.models import Provider
from elicit_flows.models.provider import SETTINGS


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
    readonly_fields = (*ClientAdmin.readonly_fields, "overridden", "registered_as")
    redirect_path = "/callback/{}"
    fieldsets = (
        (None, {"fields": ("slug", "sort", "name", "preset", "variables", "overridden", "enabled")}),
        (_("For OAuth"), {"fields": (
            "redirect_uri", "issuer", "authorize_url", "userinfo_url",
            "device_authorization_url", "client_id", "has_client_secret", "new_client_secret", "forget_client_secret",
            "grant", "pkce", "par", "dpop", "registration", "registered_as",
        )}),
        (_("For credentials"), {"fields": ("fields", "find_url", "verify")}),
        (_("Tokens"), {
            "fields": ("token_url", "token_auth", "scopes", "resources", "revocation_url"),
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
        if change and obj.given is not None:
            obj.given = [name for name in SETTINGS if name in obj.given or name in form.changed_data]
        super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """People's connections hang on the sort, and on what the preset says of it."""
        return (*super().get_readonly_fields(request, obj), *(("sort", "preset", "variables") if obj else ()))
