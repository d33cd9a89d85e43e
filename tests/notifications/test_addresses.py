"""T159: where people are told comes from an identity provider that verified it, or from the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from elicit_flows import people, vault
from elicit_flows.identity import openid
from elicit_flows.jobs.purge import purge
from elicit_flows.models import Contact, Elicitation, NotificationSettings, OptOut, Recipient
from elicit_flows.people import contacts, export
from tests.notifications.telling import outcomes, signs_in
from tests.support import jobs
from tests.support.mail import MailServer
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, ISSUER, Known, question
from tests.support.serving import Served

Ask = Callable[..., Elicitation]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"email": "a@example.com", "email_verified": True}, "a@example.com"),
        ({"email": "a@example.com", "email_verified": "true"}, "a@example.com"),
        ({"email": "a@example.com", "email_verified": False}, ""),
        ({"email": "a@example.com", "email_verified": "false"}, ""),
        ({"email": "a@example.com", "email_verified": 1}, ""),
        ({"email": "a@example.com"}, ""),
        ({"email_verified": True}, ""),
        ({"email": ["a@example.com"], "email_verified": True}, ""),
        ({"email": "a@example.com\r\nBcc: eve@example.com", "email_verified": True}, ""),
        ({"email": "a@example.com, eve@example.com", "email_verified": True}, ""),
        ({"email": "Eve <eve@example.com>", "email_verified": True}, ""),
        ({"email": "é@example.com", "email_verified": True}, ""),
        ({"email": "a" * 250 + "@example.com", "email_verified": True}, ""),
    ],
)
def test_t159_only_a_verified_address_is_one(said: dict[str, Any], found: str) -> None:
    assert openid.verified_email(said) == found


@pytest.mark.parametrize(
    ("iss", "said", "found"),
    [
        ("https://login.microsoftonline.com/a-tenant/v2.0", {"xms_edov": True}, "a@example.com"),
        ("https://login.microsoftonline.com/a-tenant/v2.0", {"xms_edov": "1"}, "a@example.com"),
        ("https://login.microsoftonline.us/a-tenant/v2.0", {"xms_edov": 1}, "a@example.com"),
        ("https://login.microsoftonline.com/a-tenant/v2.0", {"xms_edov": False}, ""),
        ("https://login.microsoftonline.com/a-tenant/v2.0", {"xms_edov": "0"}, ""),
        ("https://login.microsoftonline.com/a-tenant/v2.0", {"xms_edov": True, "email_verified": False}, ""),
        ("https://login.microsoftonline.com/a-tenant/v2.0", {}, ""),
        ("https://login.microsoftonline.com.example.com/a-tenant/v2.0", {"xms_edov": True}, ""),
        ("https://idp.example.com", {"xms_edov": True}, ""),
    ],
)
def test_t159_of_microsoft_an_address_is_verified_by_the_owner_of_its_domain(
    iss: str, said: dict[str, Any], found: str
) -> None:
    assert openid.verified_email({"iss": iss, "email": "a@example.com", **said}) == found


def test_t159_an_address_that_is_no_longer_verified_is_forgotten(mail: MailServer, ask: Ask) -> None:
    signs_in()
    signs_in("")
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"email": "no_address"}


@pytest.mark.parametrize("field", ["email", "to", "address", "recipient"])
def test_t159_an_agent_cannot_say_where(known: Known, served: Served, field: str) -> None:
    with known.client(served.url) as api:
        for body in (question(notify=True, **{field: "eve@example.com"}), question(notify={field: "eve@example.com"})):
            answer = api.post("/v1/elicitations", json=body)
            assert answer.status_code == 422, answer.text
    assert not Elicitation.objects.exists()


def test_t159_nothing_is_kept_where_nobody_is_told(committed: None) -> None:
    signs_in()
    assert not Contact.objects.exists()
    NotificationSettings.objects.create()
    signs_in()
    assert not Contact.objects.exists()


def test_t159_no_address_is_kept_where_no_channel_needs_one(committed: None) -> None:
    NotificationSettings.objects.create(webhook_url="https://tell.example.com/")
    signs_in(language="de")
    kept = Contact.objects.get()
    assert (kept.email, kept.language) == ("", "de")


def test_an_address_is_sealed(offered: NotificationSettings) -> None:
    signs_in()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM elicit_flows_contact")
        assert "example.com" not in str(cursor.fetchall())
    assert contacts.addresses(ALICE_CLAIM).email == "alice@example.com"


def test_the_operators_directory_goes_first(mail: MailServer, ask: Ask) -> None:
    signs_in()
    row = Recipient(slug="alice", iss=ISSUER, sub="alice")
    vault.contacts.seal_email(row, "alice@corp.example")
    row.save()
    ask()
    jobs.notify()
    assert [one["X-To"] for one in mail.received()] == ["alice@corp.example"]


@pytest.mark.slow
def test_what_is_kept_is_in_the_persons_export_and_goes_with_their_data(
    known: Known, ask: Ask, moving_clock: MovingClock
) -> None:
    signs_in(language="fr")
    ask()
    contacts.unsubscribe(contacts.person_of(ALICE_CLAIM), known.row)
    said = export.export_data(ALICE_CLAIM)["notifications"]
    assert said["email"] == "alice@example.com"
    assert said["language"] == "fr"
    assert [one["agent"] for one in said["unsubscribed"]] == ["bot"]
    people.request_erasure(ALICE_CLAIM)
    jobs.tick()
    moving_clock.forward(hours=2)
    jobs.tick()
    assert not Contact.objects.exists()
    assert not OptOut.objects.exists()
    assert export.export_data(ALICE_CLAIM)["notifications"] is None


def test_it_is_deleted_a_year_after_the_last_sign_in(offered: NotificationSettings, moving_clock: MovingClock) -> None:
    signs_in()
    moving_clock.forward(days=364)
    purge()
    assert Contact.objects.count() == 1
    moving_clock.forward(days=2)
    purge()
    assert not Contact.objects.exists()


def test_it_is_deleted_when_the_operator_switches_notifications_off(offered: NotificationSettings) -> None:
    signs_in()
    NotificationSettings.objects.update(email=False)
    purge()
    assert not Contact.objects.exists()


def test_keys_can_be_rotated(offered: NotificationSettings) -> None:
    signs_in()
    assert {(model, column) for model, column, _ in vault.rotation.SEALED} >= {
        (Contact, "email"), (Recipient, "email"), (Recipient, "chat"),
        (NotificationSettings, "chat"), (NotificationSettings, "webhook_secret"),
    }  # fmt: skip


def test_an_agent_is_told_whether_it_may(known: Known, served: Served) -> None:
    with known.client(served.url) as api:
        assert api.get("/v1/agent").json()["notify"] is True
        answer = api.post("/v1/elicitations", json=question(notify=True))
    assert answer.status_code == 201
