"""H4: the key of a row in the table of sessions was the cookie."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from elicit_flows.models import Operator
from tests.cast import OLGA
from tests.support import rows
from tests.web.test_room import browser, page


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


def test_t130_nothing_in_the_database_opens_the_account_or_the_admin(alice: Client, olga: Client) -> None:
    assert page(alice).all("body")[0]["data-page"] == "account"
    assert olga.get("/admin/").status_code == 200
    opened = set()
    for kept in Session.objects.values_list("pk", flat=True):
        thief = Client()
        thief.cookies["sessionid"] = kept
        if page(thief).all("body")[0]["data-page"] == "account":
            opened.add("the account")
        if thief.get("/admin/").status_code == 200:
            opened.add("the admin")
    assert sorted(opened) == []


def test_t130_after_a_restore_everybody_signs_in_anew(alice: Client, olga: Client) -> None:
    """A backup has the sessions of its day."""
    call_command("restored")
    assert page(alice).all("body")[0]["data-page"] == "signin"
    assert olga.get("/admin/").status_code == 302
