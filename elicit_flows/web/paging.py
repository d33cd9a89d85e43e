"""Long lists of a person's pages, ten rows at a time. The next page begins after the last row of this one, whatever is
added meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

SIZE = 10
MAX_WORDS = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"([0-9]{1,17})-([\w-]{1,64})", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}")
Position = tuple[datetime, str]
Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """``more`` and ``start``: the addresses of the next page and of the first one, "" where there is none."""

    rows: list[Row]
    more: str
    start: str


def cut(
    request: HttpRequest, fetch: Callable[[Position | None, int], list[Row]], at: Callable[[Row], datetime]
) -> Slice[Row]:
    """The page that the address asks for. ``fetch`` reads rows after a position; ``at`` is the time they are ordered
    by, the newest first. An address that nobody was given leads to the first page.
    """
    written = _CURSOR.fullmatch(request.GET.get("after", ""))
    before = (_EPOCH + timedelta(microseconds=int(written[1])), written[2]) if written else None
    found = fetch(before, SIZE + 1)
    rows = found[:SIZE]
    more = f"{(at(rows[-1]) - _EPOCH) // timedelta(microseconds=1)}-{rows[-1].pk}" if len(found) > SIZE else ""
    kept = {name: words(request, name) for name in ("q", "show") if words(request, name)}
    return Slice(
        rows, _address(request, {**kept, "after": more}) if more else "", _address(request, kept) * bool(before)
    )


def _address(request: HttpRequest, asked: dict[str, str]) -> str:
    return f"{request.path}?{urlencode(asked)}" if asked else request.path


def newest(rows: QuerySet[Row], field: str) -> Callable[[Position | None, int], list[Row]]:
    """For ``cut``: reads ``rows`` by ``field``, the newest first."""

    def fetch(before: Position | None, limit: int) -> list[Row]:
        found = rows.order_by(f"-{field}", "-pk")
        if before:
            at, pk = before
            # The first condition is the one that an index answers.
            earlier = Q(**{f"{field}__lt": at}) | Q(**{field: at, "pk__lt": pk})
            found = found.filter(earlier, **{f"{field}__lte": at})
        return list(found[:limit])

    return fetch


def numbered(before: Position | None) -> tuple[datetime, int] | None:
    """The position in rows with numbers for primary keys."""
    return (before[0], int(before[1])) if before and _NUMBER.fullmatch(before[1]) else None


def words(request: HttpRequest, name: str) -> str:
    """What the person typed into a search, or an address says, without what no name contains."""
    typed = request.GET.get(name, "")[:MAX_WORDS]
    return "".join(letter for letter in typed if letter.isprintable()).strip()


def search(request: HttpRequest, page: Slice[Any]) -> dict[str, Any]:
    """What the search and the links below a list are made of."""
    said = words(request, "q")
    long = bool(page.more or page.start)
    addresses = {"here_url": request.path, "more_url": page.more, "start_url": page.start}
    return {"q": said, "searchable": bool(said) or long, **addresses}
