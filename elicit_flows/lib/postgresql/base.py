"""Django's backend for PostgreSQL, with three changes that save time.

Whether a connection still works is checked at its socket, without a statement. Statements that run all the time are
prepared once for each connection: planning the SELECT of a token took PostgreSQL longer than running it. And
psycopg's compiled code reads their times: Django's own loader takes 2.8 µs for one, and a delivery and its agent have
ten.
"""

from __future__ import annotations

import select
from datetime import UTC
from functools import cache
from typing import Any

import psycopg
from django.db.backends.postgresql import base, operations
from django.db.backends.postgresql.psycopg_any import get_adapters_template
from django.db.backends.utils import CursorWrapper
from psycopg.adapt import AdaptersMap
from psycopg.pq import Format


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """For debugging. psycopg does not keep the text of a prepared statement."""
        return super().last_executed_query(cursor, sql, params) or str(self.compose_sql(sql, params))


@cache
def _adapters() -> AdaptersMap:
    """Django's, but for the loader of times: psycopg's own, which does the same where the connection is in UTC."""
    made = AdaptersMap(get_adapters_template(True, UTC))
    loader = psycopg.adapters.get_loader(made.types["timestamptz"].oid, Format.TEXT)
    if loader is not None:
        made.register_loader("timestamptz", loader)
    return made


class PreparedCursor(psycopg.Cursor[Any]):
    """Its parameters are bound by the server, and its times are read by compiled code."""

    @property
    def adapters(self) -> AdaptersMap:
        return _adapters()


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations

    def is_usable(self) -> bool:
        """Django asks this at the first statement of a request. A server that ends a connection sends something, which
        waits to be read. In that case, and after an error, a statement is sent to the server.
        """
        if not self.errors_occurred and self.connection is not None and not self.connection.closed:
            socket = select.poll()
            socket.register(self.connection.fileno(), select.POLLIN)
            if not socket.poll(0):  # the other side has sent nothing, not even the end
                return True
        return bool(super().is_usable())

    def prepared_cursor(self) -> CursorWrapper:
        """A cursor whose statements PostgreSQL prepares, unless ELICIT_PREPARED_STATEMENTS is off. Only for constant
        SQL, because each statement is kept as long as the connection.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            made: CursorWrapper = self._prepare_cursor(PreparedCursor(self.connection))  # type: ignore[attr-defined]
        return made
