"""T112: after the password an operator needs a second factor, and a password that they chose themselves."""

from __future__ import annotations

import base64
import re
import time

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django_otp.oath import totp
from pytest_django import Settings

from elicit_flows.models import Operator
from elicit_flows.vault import rotation, two_factor
from tests.admin.rows import Rows

FACTOR = "/admin/second-factor/"
TYPED = re.compile(r'<code class="typed">([A-Z2-7]{32})</code>')
CODES = re.compile(r"<code>((?:[A-Z0-9]{4}-){3}[A-Z0-9]{4})</code>")


@pytest.fixture(autouse=True)
def with_second_factor(without_second_factor: None, settings: Settings) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = True


def code(secret: str, steps: int = 0) -> str:
    return f"{totp(base64.b32decode(secret), drift=steps):06}"


def enrolled(browser: Client) -> tuple[str, list[str]]:
    """The secret and the recovery codes of the operator whose browser it is."""
    [secret] = TYPED.findall(browser.get(FACTOR).text)
    answer = browser.post(FACTOR, {"code": code(secret, -1)})
    return secret, CODES.findall(answer.text)


def again(user: User) -> Client:
    """Another browser in which the password was right."""
    browser = Client()
    browser.force_login(user)
    return browser


def forget_wrong_tries() -> None:
    Operator.objects.update(throttling_failure_count=0, throttling_failure_timestamp=None)


def opens(browser: Client) -> bool:
    return browser.get("/admin/").status_code == 200


def said(user: User) -> list[str]:
    return [one.get_change_message() for one in LogEntry.objects.filter(user=user).order_by("pk")]


def test_t112_the_password_alone_opens_no_page_of_the_admin(admin: Client, rows: Rows) -> None:
    for address in ("/admin/", "/admin/elicit_flows/agent/", "/admin/jsi18n/", "/admin/password_change/"):
        assert admin.get(address)["Location"].startswith("/admin/login/"), address
    assert admin.get("/admin/login/?next=/admin/elicit_flows/agent/")["Location"].startswith(FACTOR)
    admin.post("/admin/elicit_flows/connection/", {"action": "revoke", "_selected_action": rows.connection.pk})
    assert rows.refresh().connection.status == "active"


def test_a_second_factor_is_set_up_at_the_first_time_and_shown_at_the_others(admin: Client, olga: User) -> None:
    page = admin.get(FACTOR).text
    assert "<svg" in page
    secret, codes = enrolled(admin)
    assert len(set(codes)) == 10
    assert opens(admin)
    browser = again(olga)
    assert secret not in browser.get(FACTOR).text
    assert not opens(browser)
    answer = browser.post(FACTOR, {"code": code(secret), "next": "/admin/elicit_flows/agent/"})
    assert answer["Location"] == "/admin/elicit_flows/agent/"
    assert opens(browser)
    assert said(olga) == ["Set up a second factor.", "Showed the second factor."]


def test_t112_a_code_counts_once_and_a_wrong_one_never(admin: Client, olga: User) -> None:
    secret, _ = enrolled(admin)
    right = code(secret)
    first, second = again(olga), again(olga)
    assert first.post(FACTOR, {"code": right}).status_code == 302
    for wrong in (right, code(secret, -1), code(secret, -2), code(secret, 2), "000000", "x", "٠١٢٣٤٥"):
        forget_wrong_tries()
        assert second.post(FACTOR, {"code": wrong}).status_code == 403, wrong
    assert not opens(second)
    assert said(olga)[-1] == "Showed a wrong second factor."


def test_t112_after_a_wrong_code_even_the_right_one_waits(admin: Client, olga: User) -> None:
    secret, _ = enrolled(admin)
    browser = again(olga)
    for _ in range(4):
        browser.post(FACTOR, {"code": "000000"})
    assert browser.post(FACTOR, {"code": code(secret)}).status_code == 403
    forget_wrong_tries()
    assert browser.post(FACTOR, {"code": code(secret)}).status_code == 302


def test_t112_a_recovery_code_lets_in_once(admin: Client, olga: User) -> None:
    _, codes = enrolled(admin)
    first, second = again(olga), again(olga)
    assert first.post(FACTOR, {"code": codes[3].lower().replace("-", " ")}).status_code == 302
    assert second.post(FACTOR, {"code": codes[3]}).status_code == 403
    forget_wrong_tries()
    assert second.post(FACTOR, {"code": codes[4]}).status_code == 302


def test_t112_anothers_second_factor_lets_nobody_in(admin: Client, olga: User) -> None:
    enrolled(admin)
    ole = User.objects.create_superuser("ole")
    browser = again(ole)
    session = browser.session
    session["otp_device_id"] = Operator.objects.get(user=olga).persistent_id
    session.save()
    assert not opens(browser)


def test_t112_a_session_of_the_password_alone_is_no_use_when_the_factor_was_shown(admin: Client) -> None:
    before = admin.cookies["sessionid"].value
    enrolled(admin)
    stolen = Client()
    stolen.cookies["sessionid"] = before
    assert not opens(stolen)
    assert opens(admin)


def test_t75_the_secret_is_sealed_to_its_row_and_re_sealed_with_the_others(admin: Client, olga: User) -> None:
    secret, codes = enrolled(admin)
    row = Operator.objects.get(user=olga)
    assert row.secret.startswith("v1.k1.")
    assert secret not in str(Operator.objects.values())
    assert not [one for one in codes if two_factor.plain(one) in str(row.recovery)]
    assert (Operator, "secret") in [(model, name) for model, name, _ in rotation.SEALED]


def test_a_lost_factor_that_was_reset_is_set_up_anew(admin: Client, olga: User) -> None:
    secret, _ = enrolled(admin)
    two_factor.forget_factor(two_factor.operator(olga))
    assert not opens(admin), "whoever was let in by it is let out"
    assert TYPED.findall(admin.get(FACTOR).text) != [secret]


def test_where_none_is_required_nobody_is_asked(admin: Client, settings: Settings) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    assert opens(admin)
    assert admin.get(FACTOR)["Location"] == "/admin/"


def test_whoever_is_at_the_gate_may_sign_out(admin: Client) -> None:
    assert admin.post("/admin/logout/").status_code == 200
    assert admin.get(FACTOR)["Location"].startswith("/admin/login/")


def test_t112_the_gate_leads_nowhere_but_into_the_admin(admin: Client) -> None:
    enrolled(admin)
    for away in ("https://evil.example.com/", "//evil.example.com/admin/", "/account", "javascript:x"):
        assert admin.get(FACTOR, {"next": away})["Location"] == "/admin/", away


def test_a_given_password_is_changed_before_anything_else(admin: Client, olga: User, settings: Settings) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    row = two_factor.operator(olga)
    row.given_password = True
    row.save()
    assert not opens(admin)
    address = admin.get("/admin/login/?next=/admin/elicit_flows/agent/")["Location"]
    assert address.startswith("/admin/first-password/")
    refused = admin.post(address, {"new_password1": "short", "new_password2": "short"})
    assert "This password is too short" in refused.text
    chosen = f"a password of {time.time()}"
    assert admin.post(address, {"new_password1": chosen, "new_password2": chosen}).status_code == 302
    assert opens(admin)
    assert Client().login(username=olga.username, password=chosen)
    assert said(olga)[0] == "Chose a password."


def test_a_given_password_is_not_chosen_again(admin: Client, olga: User, settings: Settings) -> None:
    """It stands in the terminal and in the message that it came with."""
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    Operator.objects.filter(pk=two_factor.operator(olga).pk).update(given_password=True)
    olga.set_password(given := f"a password of {time.time()}")
    olga.save()
    browser = again(olga)
    answer = browser.post("/admin/first-password/", {"new_password1": given, "new_password2": given})
    assert "This is the password that you were given. Choose another one." in answer.text
    assert not opens(browser)
    assert Operator.objects.get().given_password
