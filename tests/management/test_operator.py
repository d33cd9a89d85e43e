"""``manage.py operator``: who gets into the admin, as what."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from elicit_flows.models import Operator
from elicit_flows.vault import two_factor

PASSWORD = re.compile(r"with the password (\S{24})\n")


@pytest.fixture(autouse=True)
def quick_passwords(settings: Settings) -> None:
    """A hash that takes no time: who gets in with a password is tried, not how it is kept."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("operator", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.slow
def test_an_operator_is_made_with_a_password_for_once_and_one_role(db: None) -> None:
    [password] = PASSWORD.findall(run("ole", "--role", "viewer"))
    ole = User.objects.get(username="ole")
    assert (ole.is_staff, ole.is_superuser, ole.check_password(password)) == (True, False, True)
    assert Operator.objects.get(user=ole).given_password
    assert ole.has_perm("elicit_flows.view_agent")
    assert not ole.has_perm("elicit_flows.change_agent")
    answer = Client().post("/admin/login/", {"username": "ole", "password": password, "next": "/admin/"}, follow=True)
    assert answer.redirect_chain[-1][0].startswith("/admin/first-password/")
    assert password not in str(LogEntry.objects.values())


@pytest.mark.parametrize("typed", ["Jos\u00e9", "Jose\u0301", "\uff2aos\u00e9"], ids=["composed", "decomposed", "wide"])
def test_an_operator_signs_in_by_the_name_however_a_keyboard_writes_it(db: None, typed: str) -> None:
    [password] = PASSWORD.findall(run(typed, "--role", "viewer"))
    run(typed, "--role", "auditor")
    assert User.objects.count() == 1
    answer = Client().post("/admin/login/", {"username": typed, "password": password, "next": "/admin/"}, follow=True)
    assert answer.redirect_chain[-1][0].startswith("/admin/first-password/")


def test_t113_another_role_takes_the_place_of_the_one_before_and_is_noted(db: None) -> None:
    run("ole", "--role", "operator")
    run("ole", "--role", "auditor")
    ole = User.objects.get(username="ole")
    assert [one.name for one in ole.groups.all()] == ["auditor"]
    assert not ole.has_perm("elicit_flows.change_agent")
    said = [one.get_change_message() for one in LogEntry.objects.filter(user=ole).order_by("pk")]
    assert said == [
        "By manage.py operator: made.", "By manage.py operator: given a first password.",
        "By manage.py operator: given the role operator.", "By manage.py operator: given the role auditor.",
    ]  # fmt: skip


def test_a_superuser_with_a_role_has_that_role_and_no_more(db: None) -> None:
    User.objects.create_superuser("root", password="x")
    run("root", "--role", "viewer")
    assert not User.objects.get().is_superuser


def test_who_is_disabled_is_out_at_once_and_in_again_with_a_new_password(db: None) -> None:
    run("ole", "--role", "viewer")
    browser = Client()
    browser.force_login(User.objects.get())
    Operator.objects.update(given_password=False)
    run("ole", "--disable")
    assert browser.get("/admin/").status_code == 302
    [password] = PASSWORD.findall(run("ole", "--new-password"))
    assert Client().login(username="ole", password=password)


def test_a_lost_second_factor_is_reset(db: None) -> None:
    run("ole", "--role", "viewer")
    row = two_factor.operator(User.objects.get())
    two_factor.key_uri(row, "x")
    Operator.objects.update(confirmed=True, recovery=["x"])
    run("ole", "--reset-second-factor")
    row.refresh_from_db()
    assert (row.confirmed, row.secret, row.recovery) == (False, "", [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ole"], "There is no operator ole. To create one, use --role administrator, auditor, operator, viewer."),
        (["o le", "--role", "viewer"], "NAME is 'o le': Enter a valid username"),
        (["olga"], "olga exists already. Name what to change: see --help."),
        (["ole", "--disable"], "There is no operator ole"),
    ],
)
def test_what_cannot_be_done_is_said(db: None, arguments: list[str], said: str) -> None:
    User.objects.create_user("olga", is_staff=True)
    with pytest.raises(CommandError, match=re.escape(said)):
        run(*arguments)
    assert User.objects.count() == 1
