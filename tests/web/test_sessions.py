"""T130: nobody can take over a session with what is in the database or in a dump of it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync as awaited
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import CreateError, UpdateError
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from elicit_flows import people
from elicit_flows.domain.values import Claim
from elicit_flows.models import Operator
from elicit_flows.web.session_store import SessionStore, stored_key
from tests.cast import OLGA
from tests.support import rows
from tests.web.test_room import browser, page

WORD = re.compile(r"[A-Za-z0-9_-]{8,64}")


@pytest.fixture
def alice(committed: None) -> Client:
    rows.agent()  # and with it the identity provider
    return browser()


@pytest.fixture
def olga(committed: None, settings: Settings) -> Client:
    """An operator who has shown her second factor."""
    settings.ELICIT_ADMIN_SECOND_FACTOR = True
    user = User.objects.create_superuser(OLGA.username)
    client = Client()
    client.force_login(user)
    session = client.session
    session["otp_device_id"] = Operator.objects.create(user=user, name="olga", confirmed=True).persistent_id
    session.save()
    return client


def dumped() -> set[str]:
    """Every word in every column of every table."""
    words: set[str] = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                words |= {word for value in row for word in WORD.findall(str(value))}
    return words


@pytest.mark.slow
def test_t130_nothing_in_the_database_opens_the_account_or_the_admin(alice: Client, olga: Client) -> None:
    assert page(alice).all("body")[0]["data-page"] == "account"
    assert olga.get("/admin/").status_code == 200
    kept = set(Session.objects.values_list("pk", flat=True))
    words = dumped()
    assert kept <= words, "the dump was looked through"
    for word in words:
        thief = Client()
        thief.cookies["sessionid"] = word
        assert thief.get("/admin/").status_code == 302, word
        if word in kept:
            assert page(thief).all("body")[0]["data-page"] == "signin", word


def test_t130_the_key_of_a_row_is_no_key_of_a_session(committed: None) -> None:
    store = SessionStore()
    store["person"] = "alice"
    store.create()
    row = Session.objects.get()
    assert row.pk == stored_key(store.session_key) != store.session_key
    assert not SessionStore(row.pk).exists(row.pk)
    stolen = SessionStore(row.pk)
    assert stolen.load() == {}
    assert stolen.session_key is None


def test_a_session_changes_its_key_and_ends_as_ever(committed: None) -> None:
    store = SessionStore()
    store["n"] = 1
    store.create()
    first = store.session_key
    assert store.exists(first)
    store.cycle_key()
    assert store.session_key != first
    assert not store.exists(first)
    assert SessionStore(store.session_key)["n"] == 1
    with pytest.raises(CreateError):
        store.save(must_create=True)
    late = SessionStore(store.session_key)
    assert late["n"] == 1
    store.flush()
    late["n"] = 2
    with pytest.raises(UpdateError):
        late.save()
    assert Session.objects.count() == 0
    store.delete()  # harmless


def test_sessions_that_are_over_are_cleared_and_count_no_more(committed: None) -> None:
    store = SessionStore()
    store["n"] = 1
    store.save()
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert SessionStore(store.session_key).get("n") is None
    call_command("clearsessions")
    assert Session.objects.count() == 0


def test_t130_what_is_awaited_does_the_same(committed: None) -> None:
    store = SessionStore()
    awaited(store.aset)("n", 1)
    awaited(store.acreate)()
    key, row = store.session_key, Session.objects.get()
    assert row.pk == stored_key(key)
    assert awaited(store.aexists)(key)
    assert not awaited(store.aexists)(row.pk)
    assert awaited(SessionStore(key).aget)("n") == 1
    assert awaited(SessionStore(row.pk).aget)("n") is None
    awaited(store.acycle_key)()
    assert Session.objects.get().pk == stored_key(store.session_key) != row.pk
    awaited(store.aflush)()
    assert Session.objects.count() == 0


def test_t130_after_a_restore_everybody_signs_in_anew(alice: Client, olga: Client) -> None:
    claim = Claim(rows.ISSUER, "bob")
    people.end_sessions(claim)
    before = people.session_epoch(claim)
    call_command("restored")
    assert page(alice).all("body")[0]["data-page"] == "signin"
    assert olga.get("/admin/").status_code == 302
    assert Session.objects.count() == 0
    assert people.session_epoch(claim) != before
