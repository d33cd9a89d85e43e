"""Writing the audit log: who did what, when, and the values before and after. Of secrets only that they changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, QuerySet
from django.forms import PasswordInput

from elicit_flows.admin.forms import SecretLines

MAX_VALUE_LENGTH = 2000  # characters
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())

Change = tuple[str, Any, Any]  # the name of the field, the old value, the new value


def record(who: Any, what: str, about: Model | None = None) -> None:
    """``who`` did ``what`` to the row ``about``, or to their own account."""
    row = about or User.objects.get(pk=who.pk)
    record_for_model(who, type(row), what, str(row.pk), str(row))


def record_for_model(who: Any, model: type[Model], what: str, pk: str | None, name: str) -> None:
    """The same for several rows, or for a row that is not loaded."""
    LogEntry.objects.create(
        user_id=who.pk,
        content_type=ContentType.objects.get_for_model(model),
        object_id=pk,
        object_repr=name[:200],
        action_flag=CHANGE,
        change_message=what,
    )


def describe_changes(changes: Iterable[Change], secrets: Iterable[str], *, new: bool = False) -> str:
    """``Changed Name from "a" to "b"; Client secret.``, or for a new row ``Added. Name "b"; Client secret.``"""
    parts = [
        f"{name} {_as_text(after)}" if new else f"{name} from {_as_text(before)} to {_as_text(after)}"
        for name, before, after in changes
        if not (new and after in _NOTHING)
    ]
    whole = "; ".join([*parts, *secrets])
    if new:
        return f"Added. {whole}." if whole else "Added."
    return f"Changed {whole}." if whole else "No fields changed."


def form_changes(form: Any) -> tuple[list[Change], list[str]]:
    """The fields that were changed, and the labels of the secrets that were typed."""
    changes, secrets = [], []
    for name in form.changed_data:
        label = str(form.fields[name].label or name.replace("_", " ").capitalize())
        if isinstance(form.fields[name].widget, PasswordInput | SecretLines):
            secrets.append(label)
        else:
            before, after = form.initial.get(name), form.cleaned_data.get(name)
            changes.append((label, _without_models(before), _without_models(after)))
    return changes, secrets


def _without_models(value: Any) -> Any:
    """Rows as their text, and a query as a sorted list: its order means nothing, and would look like a change."""
    if isinstance(value, QuerySet):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [str(item) if isinstance(item, Model) else item for item in value]
    return str(value) if isinstance(value, Model) else value


def _as_text(value: Any) -> str:
    if value in _NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"
