"""``[notifications]`` and ``[[recipient]]``, and the variables of the mail server."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from pytest_django import Settings

from config import env
from elicit_flows import checks, vault
from elicit_flows.lib import mail_server
from elicit_flows.models import Agent, NotificationSettings, Recipient
from tests.management.files import Operator

ALL = """\
[notifications]
chat = ["jsons://tell.example.com/a-secret-path/{email}"]
webhook_url = "https://intranet.example.com/tell"

[[recipient]]
slug = "alice"
iss = "https://idp.example.com"
sub = "u-1"
email = "alice@example.com"
chat = ["jsons://tell.example.com/alices-secret-path"]

[[agent]]
slug = "bot"
notify = true
"""


@pytest.fixture
def operator(db: None, tmp_path: Path) -> Operator:
    return Operator(tmp_path)


def test_it_is_stored_and_again_changes_nothing(operator: Operator) -> None:
    first = operator.apply(ALL)
    assert first.failed == 0, first
    [shown] = [line for line in first.lines if line.startswith("notifications: webhook_secret, shown only this once")]
    assert shown.rpartition(" ")[2].startswith("whsec_")
    assert Agent.objects.get(slug="bot").notify
    again = operator.apply(ALL)
    assert {line.partition(": ")[2] for line in again.lines} == {"as it was"}
    row = Recipient.objects.get()
    assert vault.contacts.open_email(row) == "alice@example.com"


def test_neither_a_secret_nor_an_address_is_stored_or_shown_in_the_clear(operator: Operator) -> None:
    said = str(operator.apply(ALL).said) + str(operator.apply(ALL.replace("secret-path", "other-secret-path")).said)
    assert "secret-path" not in said
    with connection.cursor() as cursor:
        for table in ("notificationsettings", "recipient"):
            cursor.execute(f"SELECT * FROM elicit_flows_{table}")
            rows = str(cursor.fetchall())
            assert "secret-path" not in rows
            assert "alice@example.com" not in rows


def test_another_person_under_the_same_name_keeps_nothing_of_the_first(operator: Operator) -> None:
    operator.apply(ALL)
    operator.apply(ALL.replace('sub = "u-1"', 'sub = "u-2"'))
    row = Recipient.objects.get()
    assert (row.sub, vault.contacts.open_email(row)) == ("u-2", "alice@example.com")
    assert len(vault.contacts.open_chat(row)) == 1


def test_an_empty_table_switches_it_off(operator: Operator) -> None:
    operator.apply(ALL)
    assert NotificationSettings.objects.get().on
    operator.apply("[notifications]\n")
    assert not NotificationSettings.objects.get().on


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('chat = ["jsons://tell.example.com/everybody"]', "must contain {email}"),
        ('chat = ["https://tell.example.com/{email}"]', "must be an apprise URL that begins with one of: slack://"),
        ('chat = ["slack://{email}"]', "is not a complete apprise URL of slack://"),
        ('webhook_url = "http://10.0.0.1/tell"', "is refused"),
        ('webhook_secret = "short"', "must be whsec_"),
        ("per_person = 0", "must be a whole number"),
        ('push_hosts = ["https://push.example.com"]', "must be the name of a host in lower case"),
        ('push_hosts = ["10.0.0.1"]', "must be the name of a host in lower case"),
        ('smtp = "x"', "there is no such key"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(operator: Operator, line: str, says: str) -> None:
    ran = operator.apply(f"[notifications]\n{line}\n")
    assert ran.failed == 1
    assert says in str(ran.said)
    assert not NotificationSettings.objects.exists()


@pytest.mark.parametrize("email", ["alice", "alice@example.com, eve@example.com", "älice@example.com", "a@b@c"])
def test_an_address_of_the_directory_is_one_address(operator: Operator, email: str) -> None:
    ran = operator.apply(ALL.replace("alice@example.com", email))
    assert ran.failed == 1
    assert not Recipient.objects.exists()


def test_one_person_has_one_entry(operator: Operator) -> None:
    twice = ALL + ALL[ALL.index("[[recipient]]") : ALL.index("[[agent]]")].replace('slug = "alice"', 'slug = "again"')
    assert operator.apply(twice).failed == 1
    operator.apply(ALL)
    ran = operator.apply(ALL.replace('slug = "alice"', 'slug = "again"'))
    assert ran.failed == 1
    assert "is the person of recipient alice already" in str(ran.said)


@pytest.mark.parametrize(
    ("url", "port", "scheme"),
    [
        ("smtp://mail.example.com", 587, "smtp"),
        ("smtps://flows:p%40ss@mail.example.com", 465, "smtps"),
        ("smtp+plain://[::1]:2525", 2525, "smtp+plain"),
    ],
)
def test_a_mail_server_has_an_address(url: str, port: int, scheme: str) -> None:
    found = mail_server.read(url)
    assert (found.port, found.scheme) == (port, scheme)
    assert "p@ss" not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.com", "http://mail.example.com", "smtp://", "smtp://h:port", "smtp://h/path", "smtp://h?x=1",
        "smtp+plain://flows:hunter2@h", "smtp://user:hunter2/@h",
    ],
)  # fmt: skip
def test_t160_a_wrong_one_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ELICIT_SMTP_URL", url)
    with pytest.raises(ImproperlyConfigured) as refused:
        env.smtp("ELICIT_SMTP_URL", password=None)
    assert str(refused.value).startswith("ELICIT_SMTP_URL: ")
    assert "hunter2" not in str(refused.value)


def test_a_mail_server_needs_a_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELICIT_EMAIL_FROM", raising=False)
    with pytest.raises(ImproperlyConfigured, match="ELICIT_EMAIL_FROM"):
        env.sender("ELICIT_EMAIL_FROM", needed=True)
    assert env.sender("ELICIT_EMAIL_FROM", needed=False) == ""


def test_e_mail_without_a_mail_server_is_warned_of(db: None, settings: Settings) -> None:
    assert checks.mail_can_be_sent(["default"]) == []
    NotificationSettings.objects.create(email=True)
    assert [one.id for one in checks.mail_can_be_sent(["default"])] == ["elicit.W011"]
    settings.ELICIT_SMTP = mail_server.read("smtp://mail.example.com")
    assert checks.mail_can_be_sent(["default"]) == []
