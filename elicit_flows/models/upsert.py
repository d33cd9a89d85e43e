"""Writing the one row of its kind, whether there is one or not."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Model


def upsert(row: Model, *unique: str) -> None:
    """Insert ``row``, or overwrite the one that has the same values in the fields ``unique``, in one statement.

    ``update_or_create`` looks first. It raises IntegrityError if another process then writes the row, and a third
    deletes it. The fields must be those of a unique constraint; the row's primary key is not set.
    """
    others: Sequence[str] = [
        one.name for one in row._meta.concrete_fields if not one.primary_key and one.name not in unique
    ]
    type(row)._default_manager.bulk_create([row], update_conflicts=True, unique_fields=unique, update_fields=others)
