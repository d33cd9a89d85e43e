"""Old and new processes can run with each migration, as docs/how-to/upgrade.md promises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.postgres.operations import NotInTransactionMixin
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, migrations, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import operations
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState
from django.db.utils import ConnectionHandler

from elicit_flows import checks
from elicit_flows.lib import schema_version
from elicit_flows.lib.migration_steps import AddIndexBeside, RemoveIndexBeside

FIRST = "0001_initial"  # made on an empty database
CONTRACT = re.compile(r"\d{4}_contract_\w+")
TAKES_AWAY = (operations.RemoveField, operations.DeleteModel)
RENAMES = (operations.RenameField, operations.RenameModel, operations.AlterModelTable)


def faults(migration: migrations.Migration) -> Iterator[str]:
    """Why old processes, or those who write, would not live with it."""
    for step in migration.operations:
        what = f"{migration.name}: {step.describe()}"
        if isinstance(step, NotInTransactionMixin):
            if migration.atomic:
                yield f"{what}: say atomic = False"
        elif isinstance(step, operations.AddIndex | operations.RemoveIndex):
            yield f"{what}: locks the table; take AddIndexBeside or RemoveIndexBeside"
        if isinstance(step, RENAMES):
            yield f"{what}: old processes know the old name; add, copy, and take away in a later release"
        if isinstance(step, TAKES_AWAY) and not CONTRACT.fullmatch(migration.name):
            yield f"{what}: only in a migration NNNN_contract_…, a release after the code stopped using it"
        if isinstance(step, operations.AddField) and not (step.field.null or step.field.has_db_default()):
            yield f"{what}: old processes insert rows without it; give it null=True or db_default"


def test_every_migration_after_the_first_can_run_beside_old_processes() -> None:
    ours = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    found = [one for (app, name), one in sorted(ours.items()) if app == "elicit_flows" and name != FIRST]
    assert ("elicit_flows", FIRST) in ours
    assert [fault for migration in found for fault in faults(migration)] == []


def test_the_names_of_migrations_are_those_that_django_finds_and_none_replaces_others() -> None:
    """schema_version compares names alone, without Django's loader."""
    found = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    assert schema_version.ours() == found.keys()
    assert [name for name, one in found.items() if one.replaces] == []


@pytest.mark.django_db
def test_old_processes_start_on_a_database_that_has_more() -> None:
    """New processes do not start on an older schema: the same check, with one migration not applied."""
    recorder = MigrationRecorder(connection)
    recorder.record_applied("elicit_flows", "9999_later")
    checks.require_schema()
    recorder.record_unapplied("elicit_flows", FIRST)
    with pytest.raises(ImproperlyConfigured, match="migrate"):
        checks.require_schema()


def migration(*steps: operations.base.Operation, name: str = "0002_more", atomic: bool = True) -> migrations.Migration:
    return type("Migration", (migrations.Migration,), {"operations": list(steps), "atomic": atomic})(
        name, "elicit_flows"
    )


INDEX = models.Index(fields=["slug"], name="agent_slug")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (migration(operations.AddIndex("agent", INDEX)), "locks the table"),
        (migration(operations.RemoveIndex("agent", "agent_slug")), "locks the table"),
        (migration(AddIndexBeside("agent", INDEX)), "atomic = False"),
        (migration(operations.RemoveField("agent", "name")), "only in a migration NNNN_contract_"),
        (migration(operations.RenameField("agent", "name", "title")), "old processes know the old name"),
        (migration(operations.AddField("agent", "x", models.IntegerField(default=1))), "give it null=True"),
    ],
)
def test_what_old_processes_do_not_live_with_is_refused(made: migrations.Migration, why: str) -> None:
    assert [why in fault for fault in faults(made)] == [True]


def test_what_they_live_with_is_taken() -> None:
    for made in (
        migration(AddIndexBeside("agent", INDEX), RemoveIndexBeside("agent", "agent_slug"), atomic=False),
        migration(operations.AddField("agent", "x", models.IntegerField(null=True))),
        migration(operations.AddField("agent", "x", models.IntegerField(default=1, db_default=1))),
        migration(operations.RemoveField("agent", "name"), name="0003_contract_name"),
    ):
        assert list(faults(made)) == []


@pytest.fixture(params=["ours", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseDatabaseWrapper]:
    if request.param == "ours":
        yield connection
        return
    made = ConnectionHandler({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "db")}})
    yield made["default"]
    made["default"].close()


@pytest.mark.django_db(transaction=True)
def test_the_steps_make_and_drop_an_index(database: BaseDatabaseWrapper) -> None:
    fields: list[tuple[str, models.Field[Any, Any]]] = [
        ("id", models.AutoField(primary_key=True)),
        ("slug", models.TextField()),
    ]
    before, after = ProjectState(), ProjectState()
    before.add_model(ModelState("house", "Thing", fields, {"db_table": "house_thing", "indexes": []}))
    after.add_model(ModelState("house", "Thing", fields, {"db_table": "house_thing", "indexes": [INDEX]}))
    create = operations.CreateModel("Thing", fields, {"db_table": "house_thing"})

    def there() -> bool:
        with database.cursor() as cursor:
            return INDEX.name in database.introspection.get_constraints(cursor, "house_thing")

    with database.schema_editor() as editor:
        create.database_forwards("house", editor, ProjectState(), before)
    try:
        for step, expected in ((AddIndexBeside("thing", INDEX), True), (RemoveIndexBeside("thing", INDEX.name), False)):
            states = (before, after) if expected else (after, before)
            with database.schema_editor(atomic=False) as editor:
                step.database_forwards("house", editor, *states)
            assert there() is expected
            with database.schema_editor(atomic=False) as editor:
                step.database_backwards("house", editor, *reversed(states))
            assert there() is not expected
            with database.schema_editor(atomic=False) as editor:
                step.database_forwards("house", editor, *states)
    finally:
        with database.schema_editor() as editor:
            create.database_backwards("house", editor, before, ProjectState())
