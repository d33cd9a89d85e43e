"""Signed exports: the person's and the audit log's, and the command that verifies them."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from elicit_flows import vault
from elicit_flows.admin.audit_log import record
from elicit_flows.events.publish import publish
from elicit_flows.jobs import audit_lines
from elicit_flows.models import Event
from tests.support import rows
from tests.support.in_process import default_database
from tests.support.process import PROJECT, clean_env
from tests.web.test_room import browser


def verify(file: Path, *more: str) -> str:
    out = io.StringIO()
    call_command("verify", str(file), *more, stdout=out)
    return out.getvalue()


@pytest.fixture
def audit(db: None, tmp_path: Path) -> Path:
    """The audit log of two entries and one event, signed."""
    olga = User.objects.create(username="olga")
    record(olga, "Did one thing.")
    with transaction.atomic():
        publish(rows.agent().row, "connection.revoked", {"id": "cn_1", "canary": "x"})
    record(olga, "Did another.")
    file = tmp_path / "audit.jsonl"
    call_command("audit", str(file), stdout=io.StringIO())
    return file


def test_the_audit_log_is_written_in_the_order_of_time_and_its_signature_holds(audit: Path) -> None:
    said: list[dict[str, Any]] = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line.get("what") or line.get("type") for line in said] == [
        "Did one thing.", "connection.revoked", "Did another.",
    ]  # fmt: skip
    assert "canary" not in audit.read_text()
    assert audit.stat().st_mode & 0o777 == 0o600
    assert " signed at " in verify(audit)
    with pytest.raises(CommandError, match="File exists"):
        call_command("audit", str(audit))


@pytest.mark.parametrize(
    "ended_by", [DatabaseError("away"), KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_what_was_interrupted_leaves_no_half_file_behind(
    audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended_by: BaseException
) -> None:
    """It would look like a whole audit log, and be in the way of the next try."""

    def fail(row: Any) -> str:
        raise ended_by

    with monkeypatch.context() as patched:
        patched.setattr(audit_lines, "event_line", fail)
        with pytest.raises((type(ended_by), CommandError)):
            call_command("audit", str(tmp_path / "again"), stdout=io.StringIO())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "audit.jsonl.jws"]
    call_command("audit", str(tmp_path / "again"), stdout=io.StringIO())
    assert verify(tmp_path / "again")


def test_on_sqlite_others_write_while_the_audit_log_is_exported(
    migrated_sqlite: Path, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    """A long log takes minutes, and whoever writes waits for twenty seconds at most."""
    database = tmp_path / "db"
    database.write_bytes(migrated_sqlite.read_bytes())
    other = sqlite3.connect(database, timeout=0, isolation_level=None)
    written: list[str] = []

    def write(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if sql.startswith("SELECT") and "elicit_flows_event" in sql:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            written.append(sql)
        return execute(sql, *given)

    at = f"sqlite:///{database}"
    with closing(other), default_database(at, django_db_blocker), connection.execute_wrapper(write):
        call_command("audit", str(tmp_path / "audit.jsonl"), stdout=io.StringIO())
    assert written


def test_days_are_chosen(audit: Path, tmp_path: Path) -> None:
    said = io.StringIO()
    call_command("audit", str(tmp_path / "none"), "--until", "2020-01-01", stdout=said)
    day = Event.objects.get().created_at.date().isoformat()
    call_command("audit", str(tmp_path / "day"), "--since", day, "--until", day, stdout=said)
    assert [line.split()[0] for line in said.getvalue().splitlines()] == ["0", "3"]
    assert verify(tmp_path / "none")
    with pytest.raises(CommandError, match="the first day comes first"):
        call_command("audit", str(tmp_path / "turned"), "--since", day, "--until", "2020-01-01")
    assert not (tmp_path / "turned").exists()
    call_command("audit", str(tmp_path / "all"), "--until", "9999-12-31", stdout=said)
    assert said.getvalue().splitlines()[-1].startswith("3 ")


def test_what_was_changed_after_it_was_signed_is_noticed(audit: Path, tmp_path: Path) -> None:
    signature = audit.with_name("audit.jsonl.jws")
    whole, signed = audit.read_text(), signature.read_text()
    for changed in (whole.replace("olga", "anna"), whole.splitlines(keepends=True)[0], whole + "\n", ""):
        audit.write_text(changed)
        with pytest.raises(CommandError, match="SHA-256 is another"):
            verify(audit)
    audit.write_text(whole)
    receipt = vault.sign_receipt({"sha256": hashlib.sha256(whole.encode()).hexdigest(), "iat": 1, "iss": "x"})
    for forged, why in (
        (receipt, "not the signature of an export"),
        (signed[:-3] + "AA", "not by one"),
        ("x", "not by"),
    ):
        signature.write_text(forged)
        with pytest.raises(CommandError, match=why):
            verify(audit)
    signature.unlink()
    with pytest.raises(CommandError, match=r"audit\.jsonl\.jws cannot be read"):
        verify(audit)


@pytest.mark.slow
def test_anybody_verifies_with_the_published_keys_and_with_no_database(audit: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_bytes(Client().get("/.well-known/jwks.json").content)
    ran = subprocess.run(
        [sys.executable, "manage.py", "verify", str(audit), "--keys", str(keys)],
        cwd=PROJECT, env=clean_env({"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    vault.new_receipt_key()
    assert verify(audit), "a newer key signs, and the former stays known"
    keys.write_text(json.dumps({"keys": [json.loads(keys.read_text())["keys"][0] | {"kid": "other"}]}))
    with pytest.raises(CommandError, match="not by one of these keys"):
        verify(audit, "--keys", str(keys))
    for broken in ("{", "[]", '{"keys": 1}', "null"):
        keys.write_text(broken)
        with pytest.raises(CommandError):
            verify(audit, "--keys", str(keys))


def test_a_persons_export_comes_signed_where_they_want_it_so(db: None, tmp_path: Path) -> None:
    rows.agent()
    alice = browser()
    told = alice.get("/account/export?signed=yes")
    assert told.headers["content-type"] == "application/zip"
    assert told.headers["cache-control"] == "no-store"
    zipfile.ZipFile(io.BytesIO(told.content)).extractall(tmp_path)
    file = tmp_path / "elicit-flows.json"
    assert json.loads(file.read_text())["subject"]["sub"] == "alice"
    assert " signed at " in verify(file)
    file.write_text(file.read_text().replace("alice", "alicia"))
    with pytest.raises(CommandError):
        verify(file)
    assert "/account/export?signed=yes" in alice.get("/account/security").text


def test_t140_an_old_session_gets_no_signed_export_either(db: None) -> None:
    rows.agent()
    assert browser("alice", 290).get("/account/export?signed=yes").headers["content-type"] == "application/zip"
    assert browser("alice", 301).get("/account/export?signed=yes").headers["content-type"].startswith("text/html")
