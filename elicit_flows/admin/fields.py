"""Form fields: secrets that can be written and never read, lists written as lines, and the rules of ``apply``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from elicit_flows.configure import Wrong
from elicit_flows.configure.values import Reader


def rule(reader: Reader) -> Callable[[Any], None]:
    """A reader of configuration files as a validator."""

    def validate(value: Any) -> None:
        try:
            reader(value)
        except Wrong as wrong:
            raise ValidationError(str(wrong)[:1].upper() + str(wrong)[1:] + ".") from None

    return validate


class NewSecret(forms.CharField):
    """Empty keeps what there is; what was typed is never shown again, not even after an error elsewhere."""

    def __init__(self, **options: Any) -> None:
        widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"})
        usual: dict[str, Any] = {"help_text": _("Leave it empty to keep what there is.")}
        super().__init__(required=False, widget=widget, **usual | options)


class Lines(forms.CharField):
    """A list, one to a line."""

    def __init__(self, **options: Any) -> None:
        usual: dict[str, Any] = {"required": False, "widget": forms.Textarea(attrs={"rows": 4})}
        super().__init__(**usual | options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


def address(reader: Reader, label: str, *, required: bool = False, help_text: Any = "") -> forms.CharField:
    """A URL that ``reader`` takes."""
    widget = forms.TextInput(attrs={"class": "vTextField", "spellcheck": "false"})
    return forms.CharField(
        required=required, label=label, validators=[rule(reader)], widget=widget, help_text=help_text
    )
