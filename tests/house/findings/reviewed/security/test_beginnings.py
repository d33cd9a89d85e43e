"""M11: what only begins, and left a row behind each time: attempts of a link, and sign-ins."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from elicit_flows.errors import TooMany

from elicit_flows.lib import clock
from elicit_flows.models import Attempt, IdentityProvider
from tests.doubles.provider import Provider
from tests.oauth import conftest as providers
from tests.oauth import test_leaving as leaving
from tests.oauth.journey import ask, press
from tests.support.rows import Known

double, drive_row, known = providers.double, providers.drive_row, providers.known
pushes = leaving.pushes


def test_t125_many_buttons_of_one_link_are_a_few_attempts(known: Known, pushes: Provider) -> None:
    row = ask(known)
    with suppress(TooMany):
        for number in range(60):
            press(row, f"button-{number}")
    assert Attempt.objects.count() < 60


def begin(address: str, path: str = "/login") -> int:
    return Client().post(path, {"provider": "here"}, REMOTE_ADDR=address).status_code


@pytest.fixture
def accounts(db: None) -> None:
    IdentityProvider.objects.create(slug="here", sort="accounts", issuer="https://flows.test/here")


@pytest.mark.parametrize("path", ["/login", "/switch"])
def test_t125_one_address_begins_so_many_sign_ins_a_minute(accounts: None, path: str) -> None:
    statuses = {begin("203.0.113.7", path) for _ in range(150)}
    assert statuses == {303, 429}


def test_t125_the_session_of_a_sign_in_that_was_only_begun_is_gone_soon(accounts: None) -> None:
    assert begin("203.0.113.7") == 303
    left = Session.objects.get().expire_date - clock.now()
    assert round(left / timedelta(minutes=10)) <= 1
