"""The audit log: who did what, when. What model pages do, Django notes there by itself."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model


def note(who: Any, what: str, about: Model | None = None) -> None:
    """``what`` was done to ``about``, or to the operator's own account."""
    row = about or User.objects.get(pk=who.pk)
    note_on(who, type(row), what, str(row.pk), str(row))


def note_on(who: Any, model: type[Model], what: str, pk: str | None, name: str) -> None:
    """The same of a row that is not at hand, or of many."""
    LogEntry.objects.create(
        user_id=who.pk,
        content_type=ContentType.objects.get_for_model(model),
        object_id=pk,
        object_repr=name[:200],
        action_flag=CHANGE,
        change_message=what,
    )
