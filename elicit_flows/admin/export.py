"""Rows as a CSV file, for operators' spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ReadOnly
from elicit_flows.admin.noting import note_on
from elicit_flows.admin.roles import EXPORT, may
from elicit_flows.lib.clock import rfc3339

MAX_ROWS = 50_000
# A cell that begins so is taken for a formula (OWASP, CSV injection), as are the full-width forms by some programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def inert(value: object) -> str:
    """As text that a spreadsheet shows and does not run (threat T113)."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


class Exported(ReadOnly):
    """A page whose rows can be taken away. That somebody did so is noted like a change."""

    actions: Sequence[str] = ("export_csv",)

    def row(self, row: Any) -> Mapping[str, Any]:
        """The cells of one row by column, times as they are."""
        raise NotImplementedError

    def has_export_permission(self, request: HttpRequest) -> bool:
        return may(request, EXPORT)

    @admin.action(description=_("Export as CSV"), permissions=["export"])
    def export_csv(self, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse:
        found = [self.row(row) for row in rows[:MAX_ROWS]]
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{self.opts.verbose_name_plural}.csv"'
        _write(response, found)
        note_on(request.user, self.model, f"Exported {len(found)} rows as CSV.", None, f"{len(found)} rows")
        return response


def _write(file: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(row)
        writer.writerow(cells(row.values()))


def cells(values: Iterable[Any]) -> list[str]:
    """As text: moments by RFC 3339, nothing that a spreadsheet would run."""
    return [inert(rfc3339(value) if hasattr(value, "astimezone") else value) for value in values]
