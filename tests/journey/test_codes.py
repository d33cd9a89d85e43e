"""A code in place of the link, typed on another device."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.journey.stage import Json, Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser


def code_of(stage: Stage, asked: Json) -> Json:
    answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/code")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.slow
@pytest.mark.parametrize(
    "scripts", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["with scripts", "without scripts"]
)
def test_whoever_has_no_browser_where_they_read_it_answers_on_their_phone(
    stage: Stage, new_user: Callable[..., User], scripts: bool
) -> None:
    asked = stage.ask(reuse="never")
    code = code_of(stage, asked)
    phone = new_user(scripts=scripts)
    phone.open(code["verification_uri"])
    phone.press("code", code="wrong one")
    assert (phone.page_name, "We don't know this code" in phone.text) == ("code", True)
    phone.press("code", code=code["user_code"].lower())
    phone.carry_on("signin", "alice")
    assert phone.page.url == asked["url"]
    stage.complete(phone, asked)


def test_t1_whoever_else_types_it_learns_nothing(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(reuse="never", message="For Alice alone.")
    code = code_of(stage, asked)
    http_user.open(code["verification_uri"])
    http_user.press("code", code=code["user_code"])
    assert http_user.page_name == "signin"
    assert asked["message"] not in http_user.text
    http_user.carry_on("signin", "bob")
    assert http_user.page_name == "mismatch"
    assert asked["message"] not in http_user.text
    assert stage.status(asked) == "pending"


@pytest.mark.django_db
def test_who_guesses_is_stopped(client: Client) -> None:
    statuses = [client.post("/device", {"code": f"BBBBBBB{letter}"}).status_code for letter in "BCDFGHJKLMNPQRSTVWXZ"]
    assert set(statuses) == {422}
    assert client.post("/device", {"code": "BBBBBBBB"}).status_code == 429
    assert client.get("/device").status_code == 200
