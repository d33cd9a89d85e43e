"""The operations behind an address of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ninja.operation import Operation, PathView


def of_view(view: Callable[..., Any] | None) -> list[Operation]:
    """One for each method, or more; none if the view is not django-ninja's, whose operations are in its closure."""
    held = [cell.cell_contents for cell in getattr(view, "__closure__", None) or ()]
    return next((one.operations for one in held if isinstance(one, PathView)), [])
