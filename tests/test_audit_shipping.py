"""The audit log over TLS to a real server (RFC 5425), and from PostgreSQL without a gap, however long it takes."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from config import env
from elicit_flows.admin.audit_log import record
from elicit_flows.jobs.audit_shipping import ship
from elicit_flows.lib import line_sinks
from tests.doubles.certificate import by_an_authority
from tests.support.moving import MovingClock
from tests.support.ports import free_port
from tests.support.process import Process, until

HEAD = re.compile(r"<109>1 \S+Z \S+ elicit-flows \d+ audit - (\{.*\})")


class Server:
    def __init__(self, folder: Path, *more: str) -> None:
        self.heard, self.port = folder / "heard", free_port()
        files = [str(folder / name) for name in ("server.pem", "server.key", "heard")]
        command = [sys.executable, "-m", "tests.support.syslog_server", *files, str(self.port), *more]
        self.process = Process(command, folder / "log")
        self.process.start()
        self.process.wait_for_output("listening")

    def said(self) -> list[dict[str, Any]]:
        """What it heard, each message by the length before it."""
        rest, found = self.heard.read_bytes(), []
        while rest:
            length, _, rest = rest.partition(b" ")
            message = HEAD.fullmatch(rest[: int(length)].decode())
            assert message, rest[: int(length)]
            found.append(json.loads(message[1]))
            rest = rest[int(length) :]
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    by_an_authority(tmp_path, "localhost")
    with ExitStack() as stack:

        def start(*more: str) -> Server:
            made = Server(tmp_path, *more)
            stack.callback(made.process.stop)
            return made

        yield start


def setting(monkeypatch: pytest.MonkeyPatch, value: str, ca: Path | None) -> line_sinks.Sink | None:
    """As config/settings.py reads it."""
    monkeypatch.setenv("ELICIT_AUDIT_LOG", value)
    return env.audit_log("ELICIT_AUDIT_LOG", str(ca) if ca else None)


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create(username="olga")


def test_a_server_over_tls_gets_every_message_after_its_length(
    olga: User, settings: Settings, server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = server()
    settings.ELICIT_AUDIT_LOG = setting(monkeypatch, f"syslog+tls://localhost:{heard.port}", tmp_path / "ca.pem")
    for number in range(3):
        record(olga, f"Did thing {number}: ü. " + "x" * 30_000)
    assert ship() == 3
    assert [one["what"][:11] for one in heard.said()] == [f"Did thing {number}" for number in range(3)]


@pytest.mark.parametrize(("host", "trusted"), [("localhost", False), ("127.0.0.1", True)])
def test_a_certificate_of_nobody_we_trust_or_of_another_name_gets_nothing(
    olga: User, settings: Settings, server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    host: str, trusted: bool,
) -> None:  # fmt: skip
    heard = server()
    ca = tmp_path / "ca.pem" if trusted else None
    settings.ELICIT_AUDIT_LOG = setting(monkeypatch, f"syslog+tls://{host}:{heard.port}", ca)
    record(olga, "One.")
    assert ship() == 0
    heard.process.wait_for_output("refused|heard")
    assert heard.heard.read_bytes() == b""
    settings.ELICIT_AUDIT_LOG = setting(monkeypatch, f"syslog+tls://localhost:{heard.port}", tmp_path / "ca.pem")
    assert ship() == 1


def test_what_may_have_been_cut_off_is_sent_again(
    olga: User, settings: Settings, server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker on the network can end a TCP connection, but cannot claim that the server has read everything."""
    cut, whole = server("--cut"), server()
    record(olga, "One.")
    settings.ELICIT_AUDIT_LOG = setting(monkeypatch, f"syslog+tls://localhost:{cut.port}", tmp_path / "ca.pem")
    assert ship() == 0
    settings.ELICIT_AUDIT_LOG = setting(monkeypatch, f"syslog+tls://localhost:{whole.port}", tmp_path / "ca.pem")
    assert ship() == 1
    assert len({one["id"] for one in whole.said()}) == 1


@pytest.fixture
def file(settings: Settings, tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    settings.ELICIT_AUDIT_LOG = line_sinks.read(f"file:{path}")
    return path


INSERT = """
INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message, user_id)
VALUES (now(), 'x', 'x', 2, %s, %s)
"""


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_an_entry_is_waited_for_as_long_as_its_transaction_takes(
    on_postgres: str, file: Path, moving_clock: MovingClock, ends: str
) -> None:
    """Time does not decide: a transaction may be open for longer than anybody expects."""
    olga = User.objects.create(username="olga")
    record(olga, "One.")
    with psycopg.connect(on_postgres) as other:
        other.execute(INSERT, ["Two, and then much else.", olga.pk])
        record(olga, "Three.")
        record(olga, "Four.")
        assert ship() == 1
        moving_clock.forward(hours=2)
        LogEntry.objects.update(action_time=LogEntry.objects.latest("pk").action_time - timedelta(hours=2))
        assert [ship(), ship()] == [0, 0]
        {"commit": other.commit, "rollback": other.rollback}[ends]()
    two = ["Two, and then much else."] if ends == "commit" else []
    until(lambda: ship() == 2 + len(two), "its end is enough")
    said = [json.loads(line)["what"] for line in file.read_text().splitlines()]
    assert said == ["One.", *two, "Three.", "Four."]
    assert ship() == 0


def test_after_a_restore_numbers_go_on_far_beyond_what_was_lost(on_postgres: str, file: Path) -> None:
    olga = User.objects.create(username="olga")
    record(olga, "One.")
    assert ship() == 1
    call_command("restored", stdout=io.StringIO())
    record(olga, "Two.")
    assert (ship(), ship()) == (1, 0)
    one, two = (int(json.loads(line)["id"].removeprefix("admin-")) for line in file.read_text().splitlines())
    assert two > one + 1_000_000
