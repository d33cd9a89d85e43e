"""Queries for due work, party by party: a backlog of one party does not slow down the others.

A party is what the work is for, such as an agent's webhooks or a provider and an agent. An index begins with the party,
so the oldest rows of each are read from it without reading the others. SQLite, which is for development, gets simpler
statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection, transaction
from django.db.models import Min, QuerySet, Subquery

from elicit_flows.lib import clock

Party = tuple[int, ...]

# Each step of the recursion finds the next party in the index without reading the other rows of this one.
_PARTIES = """
    WITH RECURSIVE party ({by}) AS (
        (SELECT {by} FROM {table} WHERE {where} ORDER BY {by} LIMIT 1)
        UNION ALL
        SELECT following.* FROM party CROSS JOIN LATERAL (
            SELECT {by} FROM {table} AS t WHERE {where} AND ({of_row}) > ({of_party}) ORDER BY {by} LIMIT 1
        ) AS following
    ) SELECT {by} FROM party
"""
_ALL_PARTIES = "SELECT DISTINCT {by} FROM {table} WHERE {where}"
_OLDEST = """
    SELECT due.id FROM unnest({arrays}, %s::int[]) AS party ({by}, room) CROSS JOIN LATERAL (
        SELECT t.id, t.{due} FROM {table} AS t
        WHERE ({of_row}) = ({of_party}) AND {where} AND t.{due} <= %s AND (t.{lease} IS NULL OR t.{lease} <= %s)
        ORDER BY t.{due} LIMIT party.room {lock}
    ) AS due ORDER BY due.{due} LIMIT %s
"""
_FIRST = """
    SELECT min(head.at) FROM ({parties}) AS party CROSS JOIN LATERAL (
        SELECT t.{due} AS at, {counted} AS counted FROM {table} AS t
        WHERE ({of_row}) = ({of_party}) AND {where} AND t.{due} <= %s ORDER BY t.{due} LIMIT %s
    ) AS head WHERE head.counted
"""
# Rows that another transaction has locked are skipped: two claims at once never wait for each other.
_CLAIM = """
    WITH due AS MATERIALIZED ({oldest})
    UPDATE {table} AS t SET {change} FROM due WHERE t.id = due.id RETURNING t.id
"""
_CHANGE = "UPDATE {table} AS t SET {change} WHERE id IN ({places}) RETURNING id"
_OLDEST_OF_ONE = """
    SELECT id, {due} FROM {table}
    WHERE ({by}) = ({values}) AND {where} AND {due} <= %s AND ({lease} IS NULL OR {lease} <= %s)
    ORDER BY {due} LIMIT %s
"""


def soonest(rows: QuerySet[Any], due: str) -> Subquery:
    """The earliest ``due`` of ``rows``, as an expression that is read from the index on the columns they are filtered
    by.

    With EXISTS, PostgreSQL would scan the table instead, because it expects most rows to match.
    """
    return Subquery(rows.order_by(due).values(due)[:1])


def first_due(parties: QuerySet[Any], rows: QuerySet[Any], due: str) -> datetime | None:
    """The earliest ``due`` of all parties. ``rows`` are the rows of one party, which they name as OuterRef("pk")."""
    moment: datetime | None = parties.annotate(due=soonest(rows, due)).aggregate(first=Min("due"))["first"]
    return moment


@dataclass(frozen=True)
class Backlog:
    r"""The rows of ``table`` that are due at ``due`` and not leased (``lease``). The columns ``by`` name the party.

    ``where`` is the condition of the index on (\*by, due), word for word.
    """

    table: str
    by: tuple[str, ...]
    due: str
    lease: str
    where: str

    @property
    def parties(self) -> str:
        """SQL that selects the parties that have such rows, due or not."""
        if connection.vendor == "sqlite":
            return _ALL_PARTIES.format(**self._names)
        return _PARTIES.format(**self._names)

    def oldest(self, rooms: Mapping[Party, int], limit: int) -> list[str]:
        """The ids of the oldest rows that are due and not leased: of each party at most the number in ``rooms``, and
        ``limit`` in all.
        """
        if not rooms:
            return []
        if connection.vendor == "sqlite":
            return self._oldest_in_sqlite(rooms, limit)
        return _ids(self._oldest(), self._values(rooms, limit))

    def claim(self, rooms: Mapping[Party, int], limit: int, change: str, values: Sequence[Any]) -> list[str]:
        """Find rows like ``oldest`` and change each by ``change``, the SET of an UPDATE with ``values``. Returns their
        ids in no order.
        """
        if not rooms:
            return []
        if connection.vendor == "sqlite":  # one writer at a time
            with transaction.atomic():
                chosen = self._oldest_in_sqlite(rooms, limit)
                places = ", ".join(["%s"] * len(chosen))
                return _ids(_CHANGE.format(table=self.table, change=change, places=places), [*values, *chosen])
        sql = _CLAIM.format(oldest=self._oldest("FOR UPDATE SKIP LOCKED"), table=self.table, change=change)
        return _ids(sql, [*self._values(rooms, limit), *values])

    def _oldest(self, lock: str = "") -> str:
        return _OLDEST.format(**self._names, arrays=", ".join(["%s::bigint[]"] * len(self.by)), lock=lock)

    def _values(self, rooms: Mapping[Party, int], limit: int) -> list[Any]:
        now = connection.ops.adapt_datetimefield_value(clock.now())
        columns = [list(column) for column in zip(*rooms, strict=True)]
        return [*columns, list(rooms.values()), now, now, limit]

    def _oldest_in_sqlite(self, rooms: Mapping[Party, int], limit: int) -> list[str]:
        now = connection.ops.adapt_datetimefield_value(clock.now())
        sql = _OLDEST_OF_ONE.format(**self._names, values=", ".join(["%s"] * len(self.by)))
        found: list[tuple[str, str]] = []
        with connection.cursor() as cursor:
            for party, room in rooms.items():
                cursor.execute(sql, [*party, now, now, room])
                found += [(due, pk) for pk, due in cursor.fetchall()]
        return [pk for _, pk in sorted(found)[:limit]]

    def first(self, parties: str, counted: str, most: int) -> datetime | None:
        """The earliest ``due`` of the rows for which ``counted`` is true, of the parties that the SELECT ``parties``
        finds. Reads only the ``most`` oldest rows of each. PostgreSQL only.
        """
        with connection.cursor() as cursor:
            cursor.execute(_FIRST.format(**self._names, parties=parties, counted=counted), [clock.now(), most])
            [moment] = cursor.fetchone()
        return moment  # type: ignore[no-any-return]

    @cached_property
    def _names(self) -> dict[str, str]:
        """What the SQL calls the table and its columns."""
        return {
            "table": self.table,
            "by": ", ".join(self.by),
            "of_row": ", ".join(f"t.{column}" for column in self.by),
            "of_party": ", ".join(f"party.{column}" for column in self.by),
            "due": self.due,
            "lease": self.lease,
            "where": self.where,
        }


def _ids(sql: str, values: Sequence[Any]) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [pk for (pk,) in cursor.fetchall()]
