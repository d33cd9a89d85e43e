"""T112: the login is throttled by user name and by address, before the password is looked at."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from elicit_flows.admin.site import TRIES_PER_ADDRESS, TRIES_PER_NAME
from elicit_flows.lib import limits
from tests.cast import OLGA


def enter(browser: Client, name: str, password: str, address: str = "192.0.2.1") -> HttpResponse:
    answer: HttpResponse = browser.post(
        "/admin/login/", {"username": name, "password": password, "next": "/admin/"}, REMOTE_ADDR=address
    )
    return answer


def test_the_right_password_opens_the_admin_with_a_new_session(anybody: Client, olga: User) -> None:
    answer = enter(anybody, OLGA.username, OLGA.password)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert anybody.get("/admin/").status_code == 200


@pytest.fixture(autouse=True)
def _one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries are counted in windows of five minutes: none turns over in the middle of a test."""
    monkeypatch.setattr(limits, "time", SimpleNamespace(time=lambda: 1_800_000_000.0))


def test_t112_after_too_many_tries_for_one_name_even_the_right_password_waits(anybody: Client, olga: User) -> None:
    for number in range(TRIES_PER_NAME):
        assert enter(anybody, OLGA.username, "wrong", f"192.0.2.{number}").status_code == 200
    refused = enter(anybody, OLGA.username, OLGA.password, "198.51.100.1")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "300"
    assert "Too many tries" in refused.text
    assert anybody.get("/admin/").status_code == 302


@pytest.mark.parametrize("spelling", [" olga", "olga ", "ｏｌｇａ"])
def test_t112_another_spelling_of_a_name_is_the_same_name(anybody: Client, olga: User, spelling: str) -> None:
    for number in range(TRIES_PER_NAME):
        enter(anybody, OLGA.username, "wrong", f"192.0.2.{number}")
    assert enter(anybody, spelling, OLGA.password, "198.51.100.1").status_code == 429


def test_t112_after_too_many_tries_from_one_address_every_name_waits(anybody: Client, olga: User) -> None:
    for number in range(TRIES_PER_ADDRESS):
        assert enter(anybody, f"somebody-{number}", "wrong").status_code == 200
    assert enter(anybody, OLGA.username, OLGA.password).status_code == 429
    assert enter(anybody, OLGA.username, OLGA.password, "198.51.100.1").status_code == 302


def test_t60_a_forged_forwarded_for_does_not_make_another_address(anybody: Client, olga: User) -> None:
    for number in range(TRIES_PER_ADDRESS):
        anybody.post(
            "/admin/login/", {"username": f"x{number}", "password": "y"},
            REMOTE_ADDR="192.0.2.1", headers={"x-forwarded-for": f"198.51.100.{number}"},
        )  # fmt: skip
    assert enter(anybody, OLGA.username, OLGA.password).status_code == 429


def test_t112_whoever_is_no_operator_does_not_get_in(anybody: Client) -> None:
    User.objects.create_user("ursula", password="a user, no operator")
    answer = enter(anybody, "ursula", "a user, no operator")
    assert answer.status_code == 200
    assert anybody.get("/admin/").status_code == 302


def test_t50_a_login_without_the_forms_own_token_is_refused(olga: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert enter(strict, OLGA.username, OLGA.password).status_code == 403
    assert strict.get("/admin/").status_code == 302


def test_t113_sign_ins_are_noted_and_so_are_those_that_fail(anybody: Client, olga: User) -> None:
    enter(anybody, OLGA.username, "wrong", "192.0.2.7")
    enter(anybody, "a-password-typed-as-name", "wrong", "192.0.2.7")
    enter(anybody, OLGA.username, OLGA.password, "192.0.2.8")
    said = [(one.user, one.get_change_message()) for one in LogEntry.objects.order_by("pk")]
    assert said == [(olga, "A sign-in failed, from 192.0.2.7."), (olga, "Signed in from 192.0.2.8.")]
