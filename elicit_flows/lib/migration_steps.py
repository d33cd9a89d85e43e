"""Migration operations that create and drop indexes without blocking writes.

tests/house/test_migrations.py refuses Django's own operations. SQLite has none that do not block, and needs none,
because only one process uses it.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations.operations import AddIndex, RemoveIndex
from django.db.migrations.operations.base import Operation


class _ConcurrentOnPostgres(Operation):
    """A mixin for Django's concurrent operations. On other databases than PostgreSQL it does ``plain``."""

    plain: type[Operation]

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            self.plain.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            self.plain.database_backwards(self, app_label, schema_editor, from_state, to_state)


class AddIndexBeside(_ConcurrentOnPostgres, AddIndexConcurrently):
    """Needs ``atomic = False`` in its migration. If it is interrupted, drop the invalid index and migrate again."""

    plain = AddIndex


class RemoveIndexBeside(_ConcurrentOnPostgres, RemoveIndexConcurrently):
    """Needs ``atomic = False`` in its migration."""

    plain = RemoveIndex
