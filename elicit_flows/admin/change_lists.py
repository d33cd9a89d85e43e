"""The lists of the admin: each cell says which column it is in, for a phone, where rows are blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

register = template.Library()

ROLES = {"td": "cell", "th": "rowheader"}


@register.filter
def in_columns(cells: Iterable[SafeString], headers: Sequence[Mapping[str, Any]]) -> list[SafeString]:
    """Django's cells of a row, with the name of their column as ``data-label``. The box to tick has a name already."""
    found = []
    for cell, header in zip(cells, headers, strict=True):
        tag = cell[1:3]
        # A header that is markup has no text: the box that ticks all rows.
        name = "" if isinstance(header["text"], SafeString) else capfirst(str(header["text"]))
        label = format_html(' data-label="{}"', name) if name else ""
        # The rest is Django's own markup, with the values escaped.
        rest = mark_safe(cell[3:])  # noqa: S308
        found.append(format_html('<{} role="{}"{}{}', tag, ROLES[tag], label, rest))
    return found
