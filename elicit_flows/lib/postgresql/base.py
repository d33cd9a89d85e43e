"""Django's backend for PostgreSQL, with two changes that save time.

Whether a connection still works is checked at its socket, without a statement. And statements that run all the time are
prepared once for each connection: planning the SELECT of a token took PostgreSQL longer than running it.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> str:
        """For debugging. psycopg does not keep the text of a prepared statement."""
        return super().last_executed_query(cursor, sql, params) or str(self.compose_sql(sql, params))


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
            made: CursorWrapper = self._prepare_cursor(psycopg.Cursor(self.connection))  # type: ignore[attr-defined]
        return made
