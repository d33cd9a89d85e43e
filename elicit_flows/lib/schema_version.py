"""Whether the database has every migration of this version.

Django's loader imports each migration and builds all models anew from it, which takes 6 MB. Names are enough: no
migration replaces others, and each depends on the one before (tests/house/test_migrations.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from pkgutil import iter_modules

from django.apps import apps
from django.db import connection

APPLIED = "django_migrations"  # the table of Django's MigrationRecorder

Name = tuple[str, str]


def is_current() -> bool:
    """A newer schema is right, too: the migrations of the next version run while this version serves."""
    applied: set[Name] = set()
    with connection.cursor() as cursor:
        if APPLIED in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT app, name FROM {APPLIED}")  # noqa: S608  a constant
            applied = {(app, name) for app, name in cursor.fetchall()}
    return ours() <= applied


@cache
def ours() -> frozenset[Name]:
    """The migrations in the folders of the installed apps, as (app, name)."""
    return frozenset(
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in iter_modules([str(Path(app.path, "migrations"))])
        if not module.ispkg and module.name[0] not in "_~"
    )
