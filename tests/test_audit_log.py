"""Shipping the audit log: each entry in order and after its commit, and at least once."""

from __future__ import annotations

import io
import json
import re
import socket
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from pytest_django import Settings

from elicit_flows.admin.audit_log import record
from elicit_flows.events.publish import publish
from elicit_flows.jobs.audit_shipping import ship
from elicit_flows.lib import clock, line_sinks
from elicit_flows.models import Agent, AuditPosition
from tests.support import rows
from tests.support.box import Box
from tests.support.moving import MovingClock
from tests.support.process import until


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create(username="olga")


@pytest.fixture
def file(settings: Settings, tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    settings.ELICIT_AUDIT_LOG = line_sinks.read(f"file:{path}")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def happened(agent: Agent, type: str = "elicitation.completed", **data: Any) -> None:
    with transaction.atomic():
        publish(agent, type, {"id": "el_1", "kind": "form", "status": "completed", **data})


def everything() -> int:
    count = 0
    while more := ship():
        count += more
    return count


def test_what_operators_did_is_sent_once_and_in_order(olga: User, file: Path) -> None:
    for number in range(3):
        record(olga, f"Did thing {number}.")
    assert (everything(), everything()) == (3, 0)
    record(olga, "Did one more,\nwith \u2028 lines.")
    assert everything() == 1
    said = lines(file)
    assert [line["what"] for line in said] == [
        *(f"Did thing {n}." for n in range(3)),
        "Did one more,\nwith \u2028 lines.",
    ]
    assert len({line["id"] for line in said}) == 4
    assert len(file.read_text().splitlines()) == 4
    assert said[0]["who"] == "olga"
    assert said[0]["about"] == {"type": "user", "id": str(olga.pk), "name": "olga"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_t116_no_name_hides_or_forges_anything_in_a_line(olga: User, file: Path) -> None:
    odd = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x61C, *range(0x2028, 0x202F), 0x2066, 0xFEFF, 0xE0041]))
    record(olga, f"Ended \u200f{odd} for Zoë.")
    ship()
    (line,) = file.read_text(encoding="utf-8").split("\n")[:-1]
    assert json.loads(line)["what"] == f"Ended \u200f{odd} for Zoë.", "nothing is lost"
    assert line.isprintable()
    assert "Zoë" in line


def test_t87_events_are_sent_without_what_was_asked_and_answered(db: None, file: Path) -> None:
    agent = rows.agent().row
    subject = {"iss": "https://idp.example.com", "sub": "alice"}
    happened(
        agent, subject=subject, message="canary", params={"schema": "canary"}, result={"content": "canary"},
        metadata={"note": "canary"}, error={"code": "provider_refused", "message": "canary"}, url="https://canary",
    )  # fmt: skip
    happened(agent, "elicitation.draft", text="canary")
    happened(agent, "connection.revoked")
    assert everything() == 2
    assert [(line["type"], line["position"]) for line in lines(file)] == [
        ("elicitation.completed", 1), ("connection.revoked", 3),
    ]  # fmt: skip
    first = lines(file)[0]
    assert first["agent"] == agent.slug
    assert first["about"] == {"id": "el_1", "kind": "form", "status": "completed", "subject": subject}
    assert first["error"] == "provider_refused"
    assert "canary" not in file.read_text()
    assert everything() == 0


def test_sqlite_has_one_writer_so_a_missing_number_is_not_waited_for(olga: User, file: Path) -> None:
    """tests/test_audit_shipping.py has the transactions of PostgreSQL."""
    for number in range(4):
        record(olga, f"Did thing {number}.")
    LogEntry.objects.get(change_message="Did thing 1.").delete()
    assert everything() == 3
    assert [line["what"] for line in lines(file)] == [f"Did thing {number}." for number in (0, 2, 3)]


@pytest.mark.parametrize("kept", [0, 2])
def test_after_a_restore_no_line_has_the_name_of_one_that_was_lost(olga: User, file: Path, kept: int) -> None:
    for number in range(kept):
        record(olga, f"Did thing {number}.")
    everything()
    call_command("restored", stdout=io.StringIO())
    record(olga, "Did another thing.")
    assert everything() == 1
    assert int(lines(file)[-1]["id"].removeprefix("admin-")) > 1_000_000


class Breaking:
    """A sink that takes what it is given and then says that it broke, the first time."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.broken = False

    def write(self, lines: Sequence[str]) -> None:
        self.taken += lines
        if not self.broken:
            self.broken = True
            raise ConnectionResetError("gone")


def test_what_broke_half_way_is_sent_again_under_the_same_id(olga: User, settings: Settings) -> None:
    settings.ELICIT_AUDIT_LOG = sink = Breaking()
    record(olga, "One.")
    assert ship() == 0
    assert everything() == 1
    assert len(sink.taken) == 2
    assert sink.taken[0] == sink.taken[1]


def test_of_two_processes_one_sends_a_source_and_one_that_died_is_followed(
    olga: User, file: Path, moving_clock: MovingClock
) -> None:
    record(olga, "One.")
    AuditPosition.objects.create(source="admin", lease_until=clock.now() + timedelta(seconds=60))
    assert everything() == 0
    moving_clock.forward(seconds=61)
    assert everything() == 1
    assert AuditPosition.objects.get().position == LogEntry.objects.get().pk


def test_nothing_is_noted_where_it_is_not_wanted(olga: User, settings: Settings) -> None:
    settings.ELICIT_AUDIT_LOG = None
    record(olga, "One.")
    assert everything() == 0
    assert not AuditPosition.objects.exists()


def test_a_syslog_server_gets_messages_of_rfc_5424(olga: User, settings: Settings) -> None:
    heard: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = server.accept()
        with client:
            while piece := client.recv(65536):
                heard.append(piece)

    thread = threading.Thread(target=serve)
    thread.start()
    settings.ELICIT_AUDIT_LOG = line_sinks.read(f"syslog://127.0.0.1:{server.getsockname()[1]}")
    record(olga, "Ünï.")
    record(olga, "Two.")
    assert everything() == 2
    thread.join(10)
    server.close()
    rest, messages = b"".join(heard), []
    while rest:
        length, _, rest = rest.partition(b" ")
        messages.append(rest[: int(length)].decode())
        rest = rest[int(length) :]
    assert len(messages) == 2
    head = re.compile(r"<109>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ elicit-flows \d+ audit - (.*)")
    found = [head.fullmatch(message) for message in messages]
    assert [json.loads(one[1])["what"] for one in found if one] == ["Ünï.", "Two."]


def test_a_server_that_is_away_keeps_everything_for_later(olga: User, settings: Settings, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    settings.ELICIT_AUDIT_LOG = line_sinks.read(f"syslog://127.0.0.1:{port}")
    record(olga, "One.")
    assert everything() == 0
    settings.ELICIT_AUDIT_LOG = line_sinks.read(f"file:{tmp_path}/audit.jsonl")
    assert everything() == 1


@pytest.mark.parametrize(
    "said",
    ["", "yes", "file:audit.jsonl", "file:/nonexistent/a.jsonl", "syslog://host", "syslog://h:1/path", "https://h"],
)
def test_what_is_no_place_for_it_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="it must be stdout"):
        line_sinks.read(said)


@pytest.mark.slow
def test_a_service_that_is_killed_again_and_again_misses_no_entry(tmp_path: Path, migrated_sqlite: Path) -> None:
    path = tmp_path / "audit.jsonl"
    box = Box("embedded", settings={"ELICIT_AUDIT_LOG": f"file:{path}"})
    try:
        (box.home / "elicit.sqlite3").write_bytes(migrated_sqlite.read_bytes())
        box.start()
        for number in range(4):
            box.apply(
                {
                    "identity_provider": [
                        {"slug": f"idp-{number}", "issuer": f"https://{number}.example.com", "client_id": "x"}
                    ]
                }
            )
            box.kill9()
            box.restart()
        wanted = {f"idp-{number}" for number in range(4)}
        until(lambda: {line["about"]["name"] for line in lines(path)} >= wanted, "every entry in the file")
    finally:
        box.remove()
