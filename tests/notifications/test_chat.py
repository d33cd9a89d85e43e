"""Chats, by apprise: to the operator's URLs alone, and by the guarded client."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable
from urllib.parse import quote

import pytest

from elicit_flows import http, vault
from elicit_flows.domain.values import Secret
from elicit_flows.elicitations import notify
from elicit_flows.models import Elicitation, Notification, NotificationSettings, Recipient
from elicit_flows.notifications import chat
from tests.doubles.policy import dialing
from tests.notifications.telling import outcomes, signs_in
from tests.support import jobs
from tests.support.rows import ISSUER
from tests.support.sink import Sink

Ask = Callable[..., Elicitation]


@pytest.fixture(autouse=True)
def offers_chat(offered: NotificationSettings, receiver: Sink) -> None:
    """Everybody is told at /tell/ADDRESS of the receiver, and by nothing else."""
    offers(f"json://127.0.0.1:{receiver.port}/tell/{chat.PLACE}")


def offers(*urls: str) -> None:
    row = NotificationSettings.objects.get()
    row.email = False
    vault.contacts.seal_chat(row, [Secret(url) for url in urls])
    row.save()
    notify.forget()


def test_a_person_is_told_at_the_operators_url_with_their_verified_address(ask: Ask, receiver: Sink) -> None:
    signs_in()
    row = ask()
    jobs.notify()
    [got] = receiver.received()
    assert got.path == f"/tell/{quote('alice@example.com', safe='')}" or got.path == "/tell/alice@example.com"
    said = json.loads(got.body)
    assert said["title"] == "Bot has a request for you"
    assert row.url in said["message"]
    assert "contract" not in got.body.decode()
    assert outcomes(row) == {"chat": "sent"}


def test_an_entry_of_the_directory_has_urls_of_its_own(ask: Ask, receiver: Sink) -> None:
    listed = Recipient(slug="alice", iss=ISSUER, sub="alice")
    vault.contacts.seal_chat(listed, [Secret(f"json://127.0.0.1:{receiver.port}/alice")])
    listed.save()
    ask()
    jobs.notify()
    assert [one.path for one in receiver.received()] == ["/alice"], "without an address the others cannot be filled in"


def test_without_an_address_there_is_nowhere_to_go(ask: Ask, receiver: Sink) -> None:
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"chat": "no_address"}
    assert receiver.received() == []


def test_t159_an_address_cannot_change_the_url(ask: Ask, receiver: Sink) -> None:
    signs_in("a/../../x?method=get&y=@example.com")  # as a name it is one that RFC 5321 allows
    ask()
    jobs.notify()
    for got in receiver.received():
        assert got.method == "POST"
        assert got.path.startswith("/tell/")


@pytest.mark.parametrize(("status", "outcome"), [(200, "sent"), (404, "refused"), (429, ""), (503, ""), (302, "")])
def test_what_it_answers_says_what_became_of_it(ask: Ask, receiver: Sink, status: int, outcome: str) -> None:
    offers(f"json://127.0.0.1:{receiver.port}/{chat.PLACE}")
    signs_in()
    for path in ("/alice@example.com", "/alice%40example.com"):
        if status == 302:
            receiver.redirect(path, receiver.url("/inside"), status=302)
        else:
            receiver.status(path, status)
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"chat": outcome}
    assert receiver.received("/inside") == [], "no redirect is followed"


def test_a_url_that_is_busy_is_tried_again_though_another_one_refuses(ask: Ask, receiver: Sink) -> None:
    offers(*(f"json://127.0.0.1:{receiver.port}/{path}" for path in ("busy", "gone")))
    receiver.status("/busy", 503)
    receiver.status("/gone", 404)
    signs_in()
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"chat": ""}


def test_an_answer_that_is_lost_is_not_asked_for_again(ask: Ask, receiver: Sink) -> None:
    signs_in()
    for path in ("/tell/alice@example.com", "/tell/alice%40example.com"):
        receiver.cut(path)
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"chat": "unknown"}


def test_t160_requests_go_through_the_guarded_client(ask: Ask, receiver: Sink) -> None:
    offers(f"jsons://127.0.0.1:{receiver.port}/tell/{chat.PLACE}")
    signs_in()
    row = ask()
    with dialing(http.Policy()):  # as in production: nothing on this machine
        jobs.notify()
    assert receiver.received() == []
    told = Notification.objects.get(elicitation=row)
    assert (told.outcome, told.tries) == ("", 1)


def test_t160_the_plug_ins_that_may_be_used_have_no_other_way_out() -> None:
    for scheme, plug_in in (*chat.PLUG_INS.items(), *chat.LOOPBACK.items()):
        module = sys.modules[plug_in.__module__]
        assert isinstance(module.requests, chat._Requests), scheme  # type: ignore[attr-defined]
        source = inspect.getsource(module)
        used = set(re.findall(r"\brequests\.(\w+)", source)) - {"get_connection"}
        assert used <= {name for name in dir(chat._Requests) if not name.startswith("__")}, (scheme, used)
        for other in ("urllib.request", "http.client", "import socket", "smtplib", "httpx", "subprocess"):
            assert other not in source, (scheme, other)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "http://example.com", "mailto://user:pass@example.com", "dbus://", "syslog://",
        "https://example.com", "slack://", "workflows://x", "json", "", "slack:/x",
    ],
)  # fmt: skip
def test_t159_other_urls_are_refused(url: str) -> None:
    assert chat.fault(Secret(url))


@pytest.mark.parametrize(
    "url",
    [
        "slack://xoxb-1234-1234-abc124/{email}",
        "workflows://prod-27.westus.logic.azure.com/643e69f83c8944438d68119179a10a64/KODuebWbDGYFr0z0eu/",
        "jsons://tell.example.com/alice",
    ],
)
def test_slack_teams_and_json_are_taken(url: str) -> None:
    assert chat.fault(Secret(url)) == ""


def test_t160_plain_http_is_taken_where_loopback_is_allowed_alone() -> None:
    plain = Secret("json://127.0.0.1:8080/x")
    assert chat.fault(plain) == ""
    with dialing(http.Policy()):
        assert chat.fault(plain)
