"""The field of the admin's forms for a logo or an icon."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.forms.utils import flatatt
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.forms import as_sentence
from elicit_flows.brands import pictures
from elicit_flows.brands.values import Image, Unsafe
from elicit_flows.config_file import InvalidValue
from elicit_flows.models import Picture

# A new file, the digest of the picture that there is, and whether it is to go.
Sent: TypeAlias = "tuple[UploadedFile[bytes] | None, str, bool]"


class PictureInput(forms.FileInput):
    """Shows the picture that there is. Its digest comes back with the form, so that a preview keeps a new one."""

    template_name = "admin/elicit_flows/brand/_picture.html"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        found = Picture.objects.filter(pk=value).defer("content").first() if value else None
        context = super().get_context(name, None, attrs)
        return {**context, "picture": found, "attributes": flatatt(context["widget"]["attrs"])}

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        """With the templates of the pages: a form's own renderer finds only Django's."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Sent:
        return files.get(name), str(data.get(f"{name}-kept", "")), f"{name}-forget" in data

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in files and f"{name}-kept" not in data


class PictureField(forms.Field):
    """A picture that is cleaned and stored when the form is checked; unused ones are removed a day later."""

    widget = PictureInput

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {
            "required": False,
            "help_text": _("A PNG or an SVG of at most 64 kB. What could act in an SVG is taken out."),
        }
        super().__init__(**defaults | options)

    def clean(self, value: Any) -> Picture | None:
        upload, kept, forget = value
        if upload:
            try:
                return pictures.store(_image(upload))
            except Unsafe as refusal:
                raise ValidationError(as_sentence(InvalidValue(str(refusal)))) from None
        if forget or not kept:
            return None
        found = Picture.objects.filter(pk=kept).first()
        if found is None:  # another operator has replaced it since the form was opened
            raise ValidationError(_("This picture was replaced meanwhile. Save again to keep the present one."))
        return found

    def bound_data(self, data: Any, initial: Any) -> str:
        upload, kept, forget = cast("Sent", data)
        if upload:
            try:
                return _image(upload).digest
            except Unsafe:
                return kept
        if forget:
            return ""
        return kept if not kept or Picture.objects.filter(pk=kept).exists() else initial or ""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.bound_data(data, initial) != (initial or "")


def _image(upload: UploadedFile[bytes]) -> Image:
    upload.seek(0)
    return pictures.read(upload.read(pictures.MAX_BYTES + 1))
