"""Leases: one of several workers gets a row, and another one gets it if the first has died.

The steps are claim, act, record. A row has a column that says when it is due, or until when it is leased; a claim moves
that time forward. The fence is one or more columns that every claim changes: the due time itself, or a number if others
write the row as well. A worker records its result only while the fence still has the values of its claim, so a slow one
does not overwrite the next one's result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from elicit_flows.lib.compiled_query import compare_and_set

R = TypeVar("R", bound=Model)


def claim(row: R, *fence: str, only: Mapping[str, Any] | None = None, **change: Any) -> bool:
    """Compare and set: write ``change`` if the columns of ``fence`` still have the values in ``row``.

    True for one of several who try; ``row`` then has the new values. ``change`` must give a column of the fence a value
    that it never had. A row whose fence has a None is not due. ``only``: values that other columns must have.
    """
    seen = {column: getattr(row, column) for column in fence}
    if None in seen.values() or not compare_and_set(row, {**seen, **(only or {})}, change):
        return False
    for column, value in change.items():
        setattr(row, column, value)
    return True


def held(row: R, *fence: str) -> QuerySet[R]:
    """The row in the database, unless somebody has claimed it since ``row`` was read or claimed."""
    return type(row)._default_manager.filter(pk=row.pk, **{column: getattr(row, column) for column in fence})
