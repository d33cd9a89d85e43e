"""Where a row's page is, and a list of rows. Django reads ``_5F`` in a page's address as another sign: it is quoted."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode


def page_of(row: Model, view: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[quote(row.pk)])


def list_of(model: type[Model], **question: Any) -> str:
    """``question``: what the list's filters ask."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(question)}" if question else address
