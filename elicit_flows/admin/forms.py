"""Forms of the admin that follow the rules of the configuration file, and their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.config_file import InvalidValue
from elicit_flows.config_file.schema import TABLES
from elicit_flows.config_file.validation import conflicts
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Secret
from elicit_flows.lib.sentences import sentence, spoken


class SecretField(forms.CharField):
    """A secret that ``check`` accepts. Left empty, the stored one stays. It is never shown, not even after an error."""

    def __init__(self, check: Callable[[Secret], None] | None = None, **options: Any) -> None:
        widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"})
        defaults: dict[str, Any] = {"help_text": _("Leave it empty to keep what there is.")}
        super().__init__(required=False, widget=widget, **defaults | options)
        self._check = check

    def run_validators(self, value: Any) -> None:
        super().run_validators(value)
        if value and self._check:
            try:
                self._check(Secret(value))
            except InvalidValue as error:
                raise ValidationError(as_sentence(error)) from None


class SecretLines(forms.Textarea):
    """A place for a secret of several lines. Like ``PasswordInput``, it does not show what was typed."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        return super().get_context(name, None, attrs)


class LinesField(forms.CharField):
    """A list of texts, one per line."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {"required": False, "widget": forms.Textarea(attrs={"rows": 4})}
        super().__init__(**defaults | options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


class JsonListField(forms.JSONField):
    """A list as JSON. ``null``, nothing and an empty list are the same."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)

    def clean(self, value: Any) -> Any:
        return super().clean(value) or []

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return (initial or []) != (self.to_python(data) or [])
        except ValidationError:
            return True


def address_field(label: Any, *, required: bool = False, help_text: Any = "") -> forms.CharField:
    """A text field for a URL."""
    widget = forms.TextInput(attrs={"class": "vTextField", "spellcheck": "false"})
    return forms.CharField(required=required, label=label, widget=widget, help_text=help_text)


class TableForm(forms.ModelForm):  # type: ignore[type-arg]
    """A row of one table of the configuration file, checked by the same rules as the file.

    Each field with the name of a key is checked by the rule of that key, and all of them together by ``conflicts``.
    """

    table: ClassVar[str]
    # Where an error about a key is shown, if not at the field of that name: what is stored in a secret is not a field.
    secret_fields: ClassVar[dict[str, str]] = {}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name, key in TABLES[self.table].items():
            field = self.fields.get(name)
            # A field that gives rows has looked them up, or made them, already.
            given = values.get(name)
            if field is None or isinstance(given, QuerySet | Model) or _is_empty(given):
                continue
            try:
                values[name] = key.rule(values[name])
            except InvalidValue as error:
                self.add_error(name, as_sentence(error))
        return values

    def add_conflicts(self, secrets: dict[str, Secret | None]) -> None:
        """Compare the values with each other. ``secrets``: the secrets that the row will have, by key."""
        keys = TABLES[self.table]
        # A field that is read-only on this page, or that the admin does not show, has the value of the row.
        stored_values = {name: getattr(self.instance, name, key.default) for name, key in keys.items()}
        values = stored_values | self.cleaned_data | secrets
        # A menu always has a value, so it does not show that the operator chose it.
        menus = {name for name, field in self.fields.items() if isinstance(field, forms.ChoiceField)}
        given = [
            name
            for name, key in keys.items()
            if name in self.fields and name not in menus and not _is_empty(values[name]) and values[name] != key.default
        ]
        given += [name for name, field in self.secret_fields.items() if self.cleaned_data.get(field)]
        stored = self.instance if self.instance.pk else None
        for name, message in conflicts(self.table, values, given, stored):
            field = self.secret_fields.get(name, name)
            if field in self.fields:
                self.add_error(field, shown(sentence("It %(problem)s.", problem=message)))
            else:
                self.add_error(None, shown(sentence("The value of %(name)s %(problem)s.", name=name, problem=message)))


class ClientForm(TableForm):
    """A row with a client secret."""

    new_client_secret = SecretField(label=_("Client secret"))
    forget_client_secret = forms.BooleanField(
        label=_("Delete the client secret"), required=False, help_text=_("For a public client, which has none.")
    )
    secret_fields: ClassVar[dict[str, str]] = {"client_secret": "new_client_secret"}

    def typed_secret(self) -> Secret | None:
        typed = self.cleaned_data.get("new_client_secret")
        return Secret(typed) if typed else None

    def client_secret(self) -> Secret | None:
        """The secret that the row will have."""
        if self.typed_secret() or self.cleaned_data.get("forget_client_secret") or not self.instance.client_secret:
            return self.typed_secret()
        try:
            return vault.client_secret(self.instance)
        except Unavailable:
            return None

    def set_secret(self) -> None:
        """Put the secret on the row; the caller saves it."""
        if self.typed_secret() or self.cleaned_data["forget_client_secret"]:
            vault.seal_client_secret(self.instance, self.typed_secret())

    def _post_clean(self) -> None:
        """A stored secret is sent to no other hosts than those that it was typed for (threat T131)."""
        super()._post_clean()  # type: ignore[misc]
        kept = self.instance.client_secret and not (
            self.typed_secret() or self.cleaned_data.get("forget_client_secret")
        )
        if kept and not self.errors and (hosts := vault.moved_hosts(self.instance)):
            message = _("Type it again: it would go to another host now, %(where)s.") % {
                "where": vault.hosts_in_words(hosts)
            }
            self.add_error("new_client_secret", message)


def _is_empty(value: Any) -> bool:
    """Whether the key would be left out of a file. Zero is a value."""
    return value is None or value is False or value in ("", [], {})


def shown(text: str) -> str:
    """The text in the language of the page."""
    return spoken(text, gettext, ngettext)


def as_sentence(error: InvalidValue) -> str:
    """The message as it stands beside a field, in the language of the page."""
    message = shown(str(error))
    return f"{message[:1].upper()}{message[1:]}".removesuffix(".") + "."
