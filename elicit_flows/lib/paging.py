"""All rows of a query, a page at a time, without a cursor of the database.

A cursor outlives its transaction only on the connection that made it, and behind PgBouncer in transaction mode the next
statement may be on another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

M = TypeVar("M", bound=Model)


def in_pages(rows: QuerySet[M], moment: str, size: int = 500) -> Iterator[M]:
    """By the field ``moment``, which needs an index where there are many rows, and the primary key."""
    ordered = rows.order_by(moment, "pk")
    page = list(ordered[:size])
    while page:
        yield from page
        last = page[-1]
        same, later = {moment: getattr(last, moment)}, {f"{moment}__gt": getattr(last, moment)}
        begun = {f"{moment}__gte": getattr(last, moment)}  # what the index is searched for
        page = list(ordered.filter(Q(**begun), Q(**later) | Q(**same, pk__gt=last.pk))[:size])
