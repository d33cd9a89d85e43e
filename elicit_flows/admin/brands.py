"""The admin page of a brand, with a preview of the page that asks, in light and dark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import AdminErrorList
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import BaseAdmin
from elicit_flows.admin.forms import TableForm, address_field, as_sentence
from elicit_flows.admin.pictures import PictureField
from elicit_flows.brands import page_brand, pictures, theme
from elicit_flows.config_file import InvalidValue
from elicit_flows.config_file.brands import RULES, texts
from elicit_flows.lib import clock, colours
from elicit_flows.models import Agent, Brand, Picture
from elicit_flows.web.middleware import CSP

PREVIEW = "_preview"  # the name of the button
# Only these two pages of the admin have to do with frames: the preview may stand in one of ours, and the form has two.
PREVIEW_CSP = CSP.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
FORM_CSP = f"{CSP}; frame-src 'self'"
_PLAIN = ("name", "legal_name", *page_brand.LINKS)


class TextByLanguage(forms.CharField):
    """A text in several languages, one per line: ``en: …``."""

    def __init__(self, **options: Any) -> None:
        help_text = _("One line for each language, such as “en: Welcome.”. Plain text.")
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 3}), **{"help_text": help_text} | options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(f"{key}: {said}" for key, said in value.items()) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        pairs = [line.partition(":") for line in (value or "").splitlines() if line.strip()]
        return {language.strip(): said.strip() for language, _colon, said in pairs}

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool((initial or {}) != self.to_python(data))


class BrandForm(TableForm):
    table = "brand"

    agent = forms.ModelChoiceField(
        Agent.objects.order_by("name"), required=False, label=_("Whose pages"), empty_label=_("The whole service")
    )
    logo = PictureField(label=_("Logo"))
    logo_dark = PictureField(label=_("Logo on dark pages"))
    icon = PictureField(label=_("Icon of the browser's tab"))
    brand = forms.CharField(
        label=_("Colour"), required=False, help_text=_("Such as #0b5cad. Links and buttons have it.")
    )
    brand_dark = forms.CharField(
        label=_("Colour on dark pages"), required=False, help_text=_("Empty: made of the colour.")
    )
    radius = forms.ChoiceField(
        label=_("Roundness of corners"), required=False, choices=[("", "---"), *((one, one) for one in theme.RADII)]
    )
    font = forms.ChoiceField(
        label=_("Font"), required=False, choices=[("", "---"), *((one, one) for one in theme.FONTS)],
        help_text=_("One that readers have already: nothing is loaded for it."),
    )  # fmt: skip
    support_url = address_field(_("Support page"))
    privacy_url = address_field(_("Privacy page"))
    terms_url = address_field(_("Terms"))
    support_email = forms.EmailField(label=_("Support address"), required=False)
    hide_secured_by = forms.BooleanField(label=_("Leave out “Secured by Elicit Flows”"), required=False)
    signin_intro = TextByLanguage(label=_("Text on the sign-in page"))
    consent_footer = TextByLanguage(label=_("Text below a request"))
    done = TextByLanguage(label=_("Text when it is done"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in page_brand.TEXTS:
            self.initial[name] = self.instance.texts.get(name, {})

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        for name in page_brand.TEXTS:
            try:
                values[name] = texts({name: values.get(name) or {}}).get(name, {})
            except InvalidValue as error:
                self.add_error(name, as_sentence(error))
        if self.instance.pk is None and Brand.objects.filter(agent=values.get("agent")).exists():
            self.add_error(None, _("There is one already. Change that one."))
        if PREVIEW in self.data:
            # It stops the form from being saved, and is taken out before the page is shown.
            self.add_error(None, forms.ValidationError("preview", code=PREVIEW))
        return values

    def _post_clean(self) -> None:
        self.instance.texts = {name: said for name in page_brand.TEXTS if (said := self.cleaned_data.get(name))}
        super()._post_clean()  # type: ignore[misc]

    def shown(self) -> dict[str, str]:
        """What the preview shows: the form as it stands, with what is wrong in it too."""
        names = [name for name in RULES if name in self.fields]
        values = {name: self[name].value() or "" for name in names}
        footer = TextByLanguage().to_python(self["consent_footer"].value())
        values["consent_footer"] = footer.get("en") or next(iter(footer.values()), "")
        return {name: "on" if value is True else str(value) for name, value in values.items() if value}


class BrandAdmin(BaseAdmin):
    form = BrandForm
    change_form_template = "admin/elicit_flows/brand/change_form.html"
    list_display = ("whose", "name", "colour", "colour_on_dark")
    list_select_related = ("agent",)
    fieldsets = (
        (None, {"fields": ("agent", "name", "legal_name")}),
        (_("Pictures"), {"fields": ("logo", "logo_dark", "icon")}),
        (_("Colours and shapes"), {"fields": ("brand", "brand_dark", "radius", "font")}),
        (_("Links"), {"fields": ("support_url", "support_email", "privacy_url", "terms_url", "hide_secured_by")}),
        (_("Texts"), {"fields": page_brand.TEXTS}),
    )

    def whose(self, row: Brand) -> str:
        return str(row.agent) if row.agent else gettext("The whole service")

    whose.short_description = _("Whose pages")  # type: ignore[attr-defined]

    @admin.display(description=_("Colour"), ordering="brand")
    def colour(self, row: Brand) -> str:
        return row.brand

    @admin.display(description=_("Colour on dark pages"), ordering="brand_dark")
    def colour_on_dark(self, row: Brand) -> str:
        return row.brand_dark

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("agent",) if obj else ()

    def save_model(self, request: HttpRequest, obj: Brand, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        pictures.remove_unused()
        page_brand.forget()

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.preview)
        return [path("preview/", view, name="elicit_flows_brand_preview"), *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        form = context["adminform"].form
        if PREVIEW in request.POST:
            rest = [error for error in form.errors.as_data().get(NON_FIELD_ERRORS, []) if error.code != PREVIEW]
            form.errors.pop(NON_FIELD_ERRORS, None)
            for error in rest:
                form.add_error(None, error)
            context["errors"] = AdminErrorList(form, [])
            context["previewed"] = not form.errors
        if isinstance(form, BrandForm):
            address = reverse("admin:elicit_flows_brand_preview")
            shown = form.shown()
            context["frames"] = [
                {"title": title, "address": f"{address}?{urlencode({'scheme': scheme.name, **shown})}"}
                for scheme, title in ((theme.LIGHT, _("Preview, light")), (theme.DARK, _("Preview, dark")))
            ]
        response = super().render_change_form(request, context, *args, **kwargs)
        response["Content-Security-Policy"] = FORM_CSP
        return response

    def preview(self, request: HttpRequest) -> HttpResponse:
        """The page that asks, with an example of a request and the brand in the address. Nothing on it acts."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        dark = request.GET.get("scheme") == theme.DARK.name
        context = {**_example(), "brand": _look(request.GET, dark=dark)}
        response = render(request, "admin/elicit_flows/brand/preview.html", context)
        response["Content-Security-Policy"], response["X-Frame-Options"] = PREVIEW_CSP, "SAMEORIGIN"
        return response


def _look(given: Any, *, dark: bool) -> page_brand.PageBrand:
    values: dict[str, Any] = {name: given.get(name, "") for name in _PLAIN}
    values |= {name: given[name] for name in ("brand", "brand_dark") if colours.is_colour(given.get(name))}
    values |= {
        name: given[name] if given.get(name) in known else ""
        for name, known in (("radius", theme.RADII), ("font", theme.FONTS))
    }
    footer = given.get("consent_footer", "")
    row = Brand(**values, hide_secured_by="hide_secured_by" in given)
    row.texts = {"consent_footer": {"en": footer}} if footer else {}
    for name in page_brand.PICTURES:
        setattr(row, name, Picture.objects.filter(pk=given.get(name, "")).defer("content").first())
    look = page_brand.made_of([row])
    name = theme.forced_name(row.brand, row.brand_dark, row.radius, row.font, theme.DARK if dark else theme.LIGHT)
    address = f"/brand/style/{name}/{theme.sheet_digest(name)}.css"
    return replace(look, style_url=address, logo=(look.logo_dark or look.logo) if dark else look.logo, logo_dark=None)


def _example() -> dict[str, Any]:
    return {
        "status": "pending",
        "kind": "oauth",
        "kind_template": "connect/kinds/oauth.html",
        "agent_name": gettext("Example agent"),
        "message": gettext("Connect your drive so that I can list your files."),
        "what": {
            "title": gettext("Example Drive"),
            "scopes": ["files.read"],
            "scope_words": {"files.read": gettext("Read your files")},
            "host": "drive.example",
            "host_warning": "",
        },
        "me": {"label": "alice@example.com"},
        "expires_at": clock.now() + timedelta(minutes=15),
    }
