"""Cells of CSV files that people open in spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elicit_flows.lib.clock import rfc3339

# Spreadsheets take a cell that begins so for a formula (OWASP, CSV injection); some also the full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escape_formula(value: object) -> str:
    """The value as text that a spreadsheet does not run (threat T113)."""
    text = "" if value is None else str(value)
    if isinstance(value, int):
        return text
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_cells(values: Iterable[Any]) -> list[str]:
    """Times as RFC 3339, everything else as text, no formulas."""
    return [escape_formula(rfc3339(value) if hasattr(value, "astimezone") else value) for value in values]
