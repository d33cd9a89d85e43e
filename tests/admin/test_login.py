"""T112: sign-ins are limited by user name and by address. The limits apply before the password is checked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from elicit_flows.admin.sign_in import DEVICE_COOKIE
from elicit_flows.lib import ids, rate_limits
from elicit_flows.lib.rate_limits import OPERATOR_BY_ADDRESS, OPERATOR_BY_NAME
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
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(time=lambda: 1_800_000_000.0))


def test_t112_after_too_many_tries_for_one_name_even_the_right_password_waits(anybody: Client, olga: User) -> None:
    for number in range(OPERATOR_BY_NAME.most):
        assert enter(anybody, OLGA.username, "wrong", f"192.0.2.{number}").status_code == 200
    refused = enter(anybody, OLGA.username, OLGA.password, "198.51.100.1")
    assert refused.status_code == 429
    assert refused["Retry-After"] == "300"
    assert "Too many tries" in refused.text
    assert anybody.get("/admin/").status_code == 302


@pytest.mark.slow
def test_t128_nobody_locks_out_an_operator_where_they_have_signed_in_before(anybody: Client, olga: User) -> None:
    enter(anybody, OLGA.username, OLGA.password)
    anybody.post("/admin/logout/")
    attacker = Client()
    for number in range(3 * OPERATOR_BY_ADDRESS.most):
        enter(attacker, OLGA.username, "wrong", f"192.0.2.{number}")
    for _ in range(OPERATOR_BY_ADDRESS.most + 1):  # from her own address too, as behind one proxy
        enter(attacker, OLGA.username, "wrong", "192.0.2.1")
    assert enter(attacker, OLGA.username, OLGA.password, "198.51.100.7").status_code == 429
    assert enter(anybody, OLGA.username, OLGA.password, "192.0.2.1").status_code == 302
    assert anybody.get("/admin/").status_code == 200


def test_t128_guessing_in_a_known_browser_is_bounded_as_anywhere(anybody: Client, olga: User) -> None:
    """A thief of the cookie gets the tries of one browser, and after that those of an unknown browser."""
    enter(anybody, OLGA.username, OLGA.password)
    anybody.post("/admin/logout/")
    statuses = [enter(anybody, OLGA.username, "wrong", f"192.0.2.{number}").status_code for number in range(40)]
    assert statuses.count(200) == 2 * OPERATOR_BY_NAME.most - 1, "her own was one of those of a stranger"
    assert enter(anybody, OLGA.username, OLGA.password).status_code == 429


def test_t128_the_cookie_of_one_operator_is_none_for_another_and_cannot_be_made(anybody: Client, olga: User) -> None:
    User.objects.create_superuser("ole", password="another long password")
    assert enter(anybody, "ole", "another long password").status_code == 302
    [known] = [morsel for name, morsel in anybody.cookies.items() if name == DEVICE_COOKIE]
    assert (known["httponly"], known["samesite"]) == (True, "Lax")
    anybody.post("/admin/logout/")
    for number in range(OPERATOR_BY_NAME.most):
        enter(Client(), OLGA.username, "wrong", f"192.0.2.{number}")
    assert enter(anybody, OLGA.username, OLGA.password, "198.51.100.1").status_code == 429
    forged = Client()
    forged.cookies[DEVICE_COOKIE] = f"{ids.digest(OLGA.username)}.{known.value.partition('.')[2]}"
    assert enter(forged, OLGA.username, OLGA.password, "198.51.100.1").status_code == 429


@pytest.mark.parametrize("spelling", [" olga", "olga ", "ｏｌｇａ"])
def test_t112_another_spelling_of_a_name_is_the_same_name(anybody: Client, olga: User, spelling: str) -> None:
    for number in range(OPERATOR_BY_NAME.most):
        enter(anybody, OLGA.username, "wrong", f"192.0.2.{number}")
    assert enter(anybody, spelling, OLGA.password, "198.51.100.1").status_code == 429


def test_t112_after_too_many_tries_from_one_address_every_name_waits(anybody: Client, olga: User) -> None:
    for number in range(OPERATOR_BY_ADDRESS.most):
        assert enter(anybody, f"somebody-{number}", "wrong").status_code == 200
    assert enter(anybody, OLGA.username, OLGA.password).status_code == 429
    assert enter(anybody, OLGA.username, OLGA.password, "198.51.100.1").status_code == 302


def test_t60_a_forged_forwarded_for_does_not_make_another_address(anybody: Client, olga: User) -> None:
    for number in range(OPERATOR_BY_ADDRESS.most):
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


def test_an_own_password_that_is_changed_is_noted(admin: Client, olga: User) -> None:
    chosen = {"new_password1": "corr3ct-horse-battery", "new_password2": "corr3ct-horse-battery"}
    assert admin.post("/admin/password_change/", {"old_password": "wrong", **chosen}).status_code == 200
    assert not LogEntry.objects.exists()
    assert admin.post("/admin/password_change/", {"old_password": OLGA.password, **chosen}).status_code == 302
    [noted] = LogEntry.objects.all()
    assert (noted.user, noted.object_id) == (olga, str(olga.pk))
    assert noted.get_change_message() == "Changed their own password."
    assert admin.get("/admin/").status_code == 200
