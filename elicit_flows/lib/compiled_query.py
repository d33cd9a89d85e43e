"""Queries, and statements that write one row, whose SQL is written once.

For a wide row Django takes longer to write the SQL than the database takes to answer it: 2,300 Python calls for a
connection, but 200 if the SQL exists already. So frequent queries keep the SQL that Django's compiler wrote. A row is
read as in django.db.models.query.ModelIterable.

``connection`` looks up the thread's own each time that it is asked anything, so what asks it often does that once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import CharField, Lookup, Model, QuerySet
from django.db.models.query import RelatedPopulator, get_related_populators

M = TypeVar("M", bound=Model)


def prepared_cursor() -> CursorWrapper:
    """A cursor for SQL whose text never changes: PostgreSQL plans it once, and SQLite's library does so anyway."""
    own: Any = connections[DEFAULT_DB_ALIAS]
    made: CursorWrapper = own.prepared_cursor() if own.vendor == "postgresql" else own.cursor()
    return made


@CharField.register_lookup
class Among(Lookup):
    """``pk__among=[…]`` finds the same as ``pk__in``, but the list is one parameter: its length does not change the
    SQL.
    """

    lookup_name = "among"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", [*parameters, self.rhs]

    def as_sqlite(self, compiler: Any, connection: Any) -> Any:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} IN (SELECT value FROM json_each(%s))", [*parameters, self.rhs]  # noqa: S608  a column's name


class Written(NamedTuple):
    """``order``: the argument (by index) of each parameter of the SQL. ``annotations``: the index of each in a row.
    ``joined``: what makes the rows of other models (select_related).
    """

    sql: str
    order: list[int]
    compiler: Any
    converters: Any
    model: type[Model]
    fields: list[str]
    annotations: dict[str, int]
    joined: list[RelatedPopulator]


class CompiledQuery(Generic[M]):
    """``rows`` makes a query set from the arguments. It may annotate and join (select_related), and not prefetch.

    ``samples``: an example of each argument, all different, with which the SQL is written. ``rows`` must use the
    arguments unchanged. Other texts and whole numbers become constants of the SQL, so that PostgreSQL can use the
    indexes that have the same condition. ``limited``: one more argument at the end says how many rows are read at most.
    ``prepare``: PostgreSQL may plan it once for all values. Without, it plans for the values of each call, which is for
    what looks for few rows by a time: with no time it expects a third of all rows.
    """

    def __init__(
        self, rows: Callable[..., QuerySet[M]], *samples: Any, limited: bool = False, prepare: bool = True
    ) -> None:
        self._rows = rows
        self._samples = samples
        self._limited = limited
        self._prepare = prepare
        self._written: dict[str, Written] = {}  # by database vendor

    def get(self, *values: Any) -> M:
        """The row for these arguments. Raises the model's DoesNotExist."""
        for row in self.all(*values):
            return row
        raise self._written[connection.vendor].model.DoesNotExist  # type: ignore[attr-defined]

    def first(self, *values: Any) -> M | None:
        """The first row for these arguments, if there is one. The query is not limited to it."""
        return next(iter(self.all(*values)), None)

    def all(self, *values: Any) -> list[M]:
        """All rows for these arguments. A list is for ``among``."""
        own = connections[DEFAULT_DB_ALIAS]
        written = self._written.get(own.vendor)
        if written is None:
            written = self._written[own.vendor] = self._write()
        if own.vendor == "sqlite":
            values = tuple(map(_for_sqlite, values))
        with prepared_cursor() if self._prepare else own.cursor() as cursor:
            cursor.execute(written.sql, [values[each] for each in written.order])
            found = cursor.fetchall()
        rows = []
        for cells in written.compiler.apply_converters(found, written.converters):
            row = written.model.from_db(DEFAULT_DB_ALIAS, written.fields, cells[: len(written.fields)])
            for each in written.joined:
                each.populate(cells, row)
            for name, place in written.annotations.items():
                setattr(row, name, cells[place])
            rows.append(row)
        return rows  # type: ignore[return-value]

    def _write(self) -> Written:
        own = connections[DEFAULT_DB_ALIAS]
        compiler = self._rows(*self._samples).query.get_compiler(connection=own)
        sql, parameters = compiler.as_sql()
        if self._rows(*self._samples).query.get_compiler(connection=own).as_sql() != (sql, parameters):
            raise ValueError(f"The SQL has a parameter that is neither an argument nor a constant: {parameters}")
        samples: list[Any] = list(self._samples)
        if own.vendor == "sqlite":
            samples = [each if isinstance(each, list) else _for_sqlite(each) for each in samples]
        written, *texts = sql.split("%s")
        order = []
        for parameter, text in zip(parameters, texts, strict=True):
            place = next((number for number, each in enumerate(samples) if _same(each, parameter)), None)
            if place is not None:
                order.append(place)
            written += ("%s" if place is not None else _literal(parameter)) + text
        if len(set(order)) < len(samples):
            raise ValueError(f"The SQL does not have each of {self._samples} as a parameter: {sql}, {parameters}")
        if self._limited:
            written += " LIMIT %s"
            order.append(len(samples))
        chosen = [expression for expression, *_ in compiler.select]
        fields = [chosen[place].target.attname for place in compiler.klass_info["select_fields"]]
        return Written(
            written,
            order,
            compiler,
            compiler.get_converters(chosen),
            compiler.klass_info["model"],
            fields,
            compiler.annotation_col_map,
            # The stubs are those of Django 6, where it has an argument more.
            get_related_populators(compiler.klass_info, compiler.select, connection.alias),  # type: ignore[call-arg]
        )


def _for_sqlite(value: Any) -> Any:
    """The value of an argument. A list is for ``among``."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return json.dumps(value) if isinstance(value, list) else value


def _same(sample: Any, parameter: Any) -> bool:
    """For PostgreSQL, Django makes numbers of a subclass of int."""
    return sample == parameter and isinstance(parameter, type(sample)) and not isinstance(parameter, bool)


def _literal(constant: Any) -> str:
    if isinstance(constant, int) and not isinstance(constant, bool):
        return str(int(constant))
    if not isinstance(constant, str):
        raise TypeError(f"A constant must be text or a whole number, not {constant!r}.")
    return "'" + constant.replace("'", "''").replace("%", "%%") + "'"


class CompiledInsert(NamedTuple):
    """The INSERT of a new row with all its columns, to be used inside a larger statement.

    It ends with a SELECT without FROM, so that a larger statement can make it depend on its other parts.
    """

    sql: str
    values: list[Any]

    @classmethod
    def of(cls, row: Model) -> CompiledInsert:
        """Each column needs a value; the database sets none. ``row`` is not marked as stored."""
        fields = row._meta.local_concrete_fields
        own = connections[DEFAULT_DB_ALIAS]
        kind = own.vendor, type(row)
        if kind not in _inserts:
            columns = ", ".join(f'"{each.column}"' for each in fields)
            cells = ", ".join(["%s"] * len(fields))
            if own.vendor == "postgresql":
                # It takes what is selected for text. No lengths, because a cast cuts what is too long.
                types = (str(each.cast_db_type(own)).partition("(")[0] for each in fields)
                cells = ", ".join(f"%s::{each}" for each in types)
            _inserts[kind] = f'INSERT INTO "{row._meta.db_table}" ({columns}) SELECT {cells}'
        return cls(_inserts[kind], [each.get_db_prep_save(getattr(row, each.attname), own) for each in fields])


_inserts: dict[tuple[str, type[Model]], str] = {}


class CompiledUpdate(NamedTuple):
    """The UPDATE of a row if it has certain values in the database, to be used inside a larger statement.

    ``sql`` ends with its WHERE, so that more conditions can follow. ``exists`` is the condition that the row has those
    values; its parameters are ``compared``.
    """

    sql: str
    values: list[Any]
    exists: str
    compared: list[Any]

    @classmethod
    def of(
        cls, row: Model, only: Mapping[str, Any], changes: Mapping[str, Any], *, counter: str = ""
    ) -> CompiledUpdate:
        """See ``compare_and_set``."""
        own = connections[DEFAULT_DB_ALIAS]
        field: Callable[[str], Any] = row._meta.get_field
        fields = [field(name) for name in changes]
        written = [f'"{each.column}" = %s' for each in fields] + [f'"{counter}" = "{counter}" + 1'] * bool(counter)
        values = [each.get_db_prep_save(value, own) for each, value in zip(fields, changes.values(), strict=True)]
        conditions, compared = [f'"{row._meta.pk.column}" = %s'], [row.pk]
        for name, value in only.items():
            column = field(name)
            if value is None:
                conditions.append(f'"{column.column}" IS NULL')
                continue
            several = value if isinstance(value, list) else [value]
            # PostgreSQL refuses an empty list.
            among = f'"{column.column}" IN ({", ".join(["%s"] * len(several))})' if several else "FALSE"
            conditions.append(among)
            compared += [column.get_db_prep_save(each, own) for each in several]
        condition = " AND ".join(conditions)
        table = row._meta.db_table
        sql = f'UPDATE "{table}" SET {", ".join(written)} WHERE {condition}'  # noqa: S608  names of a model
        return cls(sql, values + compared, f'EXISTS (SELECT 1 FROM "{table}" WHERE {condition})', compared)  # noqa: S608


def save(row: Model) -> None:
    """As ``row.save()``, in the caller's transaction, for a model whose key is its first column: insert a new row, or
    write all columns of one that is there.
    """
    sql, values = CompiledInsert.of(row)
    if not row._state.adding:
        key, *others = (f'"{each.column}" = %s' for each in row._meta.local_concrete_fields)
        sql = f'UPDATE "{row._meta.db_table}" SET {", ".join(others)} WHERE {key}'  # noqa: S608  names of a model
        values = [*values[1:], values[0]]
    with prepared_cursor() as cursor:
        cursor.execute(sql, values)
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def compare_and_set(
    row: Model,
    only: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    counter: str = "",
    returned: tuple[str, ...] = (),
) -> bool:
    """Write ``changes`` to the row if it has the values ``only`` in the database, of which a list names several that
    will do. False if it does not have them.

    ``counter``: a column to count up. ``returned``: fields that are read back into ``row``, in the same statement.
    """
    own = connections[DEFAULT_DB_ALIAS]
    sql, values, *_ = CompiledUpdate.of(row, only, changes, counter=counter)
    with prepared_cursor() as cursor:
        if not returned:
            cursor.execute(sql, values)
            return bool(cursor.rowcount)
        cursor.execute(f"{sql} RETURNING {', '.join(map(own.ops.quote_name, returned))}", values)
        found = cursor.fetchall()
    kind = own.vendor, type(row), returned
    if kind not in _readers:
        compiler = QuerySet(type(row)).query.get_compiler(connection=own)
        columns: list[Any] = [row._meta.get_field(name) for name in returned]
        _readers[kind] = compiler, compiler.get_converters([column.get_col(row._meta.db_table) for column in columns])
    compiler, converters = _readers[kind]
    for cells in compiler.apply_converters(found, converters):
        for name, value in zip(returned, cells, strict=True):
            setattr(row, name, value)
    return bool(found)


_readers: dict[tuple[str, type[Model], tuple[str, ...]], tuple[Any, Any]] = {}
