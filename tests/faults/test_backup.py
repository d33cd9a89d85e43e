"""The commands of docs/how-to/backup.md, run as an operator would run them."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import DjangoDbBlocker, Settings

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.models import Connection, Event
from tests.support import binaries, rows
from tests.support.in_process import default_database
from tests.support.process import PROJECT, clean_env
from tests.support.rows import Known
from tests.support.services import Postgres

pytestmark = pytest.mark.slow

OTHER_KEY = "k2:" + "B" * 43 + "="


def commands() -> dict[str, str]:
    """The blocks of the page's section, by the program that they begin with."""
    page = (PROJECT / "docs/how-to/backup.md").read_text()
    section = page.partition("\n## Backup and restore\n")[2].partition("\n## ")[0]
    return {block.split()[0]: block for block in re.findall(r"```sh backup\n(.*?)```", section, re.DOTALL)}


def compose_commands() -> list[str]:
    page = (PROJECT / "docs/how-to/backup.md").read_text()
    return re.findall(r"```sh compose\n(.*?)```", page, re.DOTALL)


def do(block: str, place: Path, **env: str) -> None:
    programs = binaries.machine_postgres() or binaries.wheel_postgres()
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["/bin/sh", "-e", "-c", block], cwd=place, env=clean_env({"PATH": path, **env}), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def live() -> tuple[Known, Connection, Connection]:
    """A token and a key that an agent has of a user."""
    bot = rows.agent("drive-bot")
    held = rows.connection(bot, rows.provider(), rows.grant(account="alice"))
    typed = vault.keep_credentials(bot.row, rows.ALICE_CLAIM, None, "Key", {"key": Secret("typed-s3cret")})
    return bot, held, typed


@pytest.fixture
def restored(
    on_postgres: str, own_postgres: Postgres, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[Known, Connection, Connection]]:
    """What was there when the dump was made, on another server; it is the default database now."""
    before, there = live(), own_postgres.database(migrated=False)
    do(commands()["pg_dump"], tmp_path, DATABASE_URL=on_postgres)
    vault.revoke(rows.connection(before[0], rows.provider(slug="later")))
    do(commands()["pg_restore"], tmp_path, NEW_DATABASE_URL=there)
    do(commands()["python"], PROJECT, DATABASE_URL=there, SECRET_KEY="of a test", ELICIT_VAULT_KEYS=OTHER_KEY)
    with default_database(there, django_db_blocker):
        yield before


def test_t79_a_dump_restored_elsewhere_opens_with_its_keys_and_refuses_to_start_without(
    restored: tuple[Known, Connection, Connection], settings: Settings
) -> None:
    bot, held, typed = restored
    vault.check_keys()
    assert vault.token(bot.row, held.pk)["access_token"].startswith("at-")
    assert vault.open_credentials(bot.row, typed.pk) == {"fields": {"key": "typed-s3cret"}}
    assert Connection.objects.count() == 2, "what came after the dump is not there"
    vault.revoke(held)
    assert Event.objects.get().position > 1_000_000, "an agent that had read what is lost reads this"
    vault.verify_keys()
    newer = f"{OTHER_KEY},{settings.ELICIT_VAULT_KEYS}"
    for keys, said in ((OTHER_KEY, r"key 'k1' is missing"), ("k1" + OTHER_KEY[2:], r"'k1' is not the one used before")):
        settings.ELICIT_VAULT_KEYS = keys
        with pytest.raises(ImproperlyConfigured, match=said):
            vault.verify_keys()
    settings.ELICIT_VAULT_KEYS = newer
    vault.verify_keys()


DOCKER = """#!/bin/sh
[ "$1 $2 $3 $4" = "compose exec -T postgres" ] || { echo "not played here: $*" >&2; exit 1; }
shift 4
exec "$@"
"""


def test_the_commands_for_compose_copy_the_database(own_postgres: Postgres, tmp_path: Path) -> None:
    """``docker`` is a script that runs the programs here, against a server with compose's user and database."""
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    own_postgres.execute("CREATE ROLE elicit LOGIN SUPERUSER")
    own_postgres.execute("CREATE DATABASE elicit OWNER elicit")
    place = {"PGHOST": "127.0.0.1", "PGPORT": str(own_postgres.port)}
    of_ours = f"postgres://elicit@127.0.0.1:{own_postgres.port}"
    do("python manage.py migrate --verbosity=0", PROJECT, DATABASE_URL=f"{of_ours}/elicit")
    for block in compose_commands():
        do(f'PATH="{tmp_path}:$PATH"\n{block}', tmp_path, **place)
    assert "postgres://elicit@postgres:5432/restored" in (PROJECT / "docs/how-to/backup.md").read_text()
    keys = {"SECRET_KEY": "of a test", "ELICIT_VAULT_KEYS": OTHER_KEY}
    do("python manage.py migrate --check", PROJECT, DATABASE_URL=f"{of_ours}/restored", **keys)


def test_a_copy_of_sqlite_made_while_it_is_written_to_comes_back_whole(migrated_sqlite: Path, tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    shutil.copy(migrated_sqlite, tmp_path / "var" / "elicit.sqlite3")
    with closing(sqlite3.connect(tmp_path / "var" / "elicit.sqlite3", isolation_level=None)) as service:
        service.execute("PRAGMA journal_mode=WAL")
        service.execute("CREATE TABLE seen (at INTEGER)")
        service.execute("INSERT INTO seen VALUES (1)")
        do(commands()["python3"], tmp_path)
        service.execute("INSERT INTO seen VALUES (2)")
        left = (tmp_path / "var" / "elicit.sqlite3-wal").read_bytes()
    (tmp_path / "var" / "elicit.sqlite3-wal").write_bytes(left)  # as a killed service leaves it
    do(commands()["rm"], tmp_path)
    with closing(sqlite3.connect(tmp_path / "var" / "elicit.sqlite3")) as back:
        assert back.execute("SELECT at FROM seen").fetchall() == [(1,)]
        assert back.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert back.execute("SELECT count(*) FROM django_migrations").fetchone()[0] > 0
