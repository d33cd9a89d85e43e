"""The code that stands for a link: it stays the same and ends with the elicitation. Other agents: see test_foreign."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx2
import pytest

from elicit_flows import elicitations
from elicit_flows.domain.errors import NotFound
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation
from tests.support.rows import question


@pytest.fixture
def asked(api: httpx2.Client) -> str:
    return str(api.post("/v1/elicitations", json=question()).json()["id"])


def code(api: httpx2.Client, asked: str, status: int = 200) -> dict[str, str]:
    answer = api.post(f"/v1/elicitations/{asked}/code")
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def test_it_is_the_same_whenever_it_is_asked_for(api: httpx2.Client, asked: str) -> None:
    said = code(api, asked)
    assert re.fullmatch(r"[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}", said["user_code"])
    assert said["verification_uri"].endswith("/device")
    assert said["verification_uri_complete"].endswith(f"/c/{asked}")
    assert code(api, asked) == said
    assert elicitations.redeem_user_code(said["user_code"]).pk == asked


@pytest.mark.parametrize("written", ["{0}", " {0} ", "{1}", "{2}", "{3}"])
def test_it_may_be_typed_as_people_do(api: httpx2.Client, asked: str, written: str) -> None:
    given = code(api, asked)["user_code"]
    spaced = " ".join(given.replace("-", ""))
    assert (
        elicitations.redeem_user_code(written.format(given, given.lower(), given.replace("-", ""), spaced)).pk == asked
    )


def test_it_may_be_typed_with_a_japanese_or_chinese_keyboard(api: httpx2.Client, asked: str) -> None:
    """Such a one writes letters and hyphens in full width while it is switched on."""
    given = code(api, asked)["user_code"]
    wide = {ord(letter): ord(letter) + 0xFEE0 for letter in {*given, *given.lower()}}
    for written in (given, given.lower()):
        assert elicitations.redeem_user_code(written.translate(wide)).pk == asked


def test_another_question_has_another(api: httpx2.Client, asked: str) -> None:
    other = api.post("/v1/elicitations", json=question(reuse="never")).json()["id"]
    assert code(api, other)["user_code"] != code(api, asked)["user_code"]


@pytest.mark.parametrize("typed", ["", "BBBB-BBBB", "AEIOU", "%", "B" * 10_000])
def test_what_stands_for_nothing_is_not_found(api: httpx2.Client, asked: str, typed: str) -> None:
    code(api, asked)
    with pytest.raises(NotFound):
        elicitations.redeem_user_code(typed)


def test_it_ends_with_the_question(api: httpx2.Client, asked: str) -> None:
    given = code(api, asked)["user_code"]
    api.post(f"/v1/elicitations/{asked}/cancel")
    assert code(api, asked, 409)["code"] == "already_over"
    with pytest.raises(NotFound):
        elicitations.redeem_user_code(given)


def test_it_ends_with_the_time_of_the_question(api: httpx2.Client, asked: str) -> None:
    given = code(api, asked)["user_code"]
    Elicitation.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert code(api, asked, 409)["code"] == "already_over"
    with pytest.raises(NotFound):
        elicitations.redeem_user_code(given)
