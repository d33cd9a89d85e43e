"""/c/{id}/other-device: the link as a QR code and as a code to type, and who can do what with them."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client

from elicit_flows import elicitations
from elicit_flows.domain.errors import NotFound
from elicit_flows.elicitations import user_codes
from elicit_flows.lib import clock, rate_limits
from elicit_flows.models import Elicitation, UserCode
from tests.support import qr, rows
from tests.web.samples import Page, shown
from tests.web.test_room import browser

CODE = re.compile(r"\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b")


def ask() -> Elicitation:
    now = clock.now()
    return Elicitation.objects.create(
        agent=rows.agent("drive-bot").row, kind="confirm", iss=rows.ISSUER, sub="alice", message="Delete the report?",
        params={"detail": None, "danger": False, "confirm_label": None, "decline_label": None},
        created_at=now, expires_at=now + timedelta(hours=1),
    )  # fmt: skip


@pytest.fixture
def asked(committed: None) -> Elicitation:
    return ask()


def path(row: Elicitation) -> str:
    return f"/c/{row.pk}/other-device"


def opened(client: Client, row: Elicitation) -> Page:
    answer = client.get(path(row))
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


def made(client: Client, row: Elicitation) -> str:
    """A new code, as the page shows it."""
    answer = client.post(f"{path(row)}/code")
    assert (answer.status_code, answer["Location"]) == (303, path(row))
    return str(CODE.findall(opened(client, row).text())[0])


def drawings(source: str) -> list[str]:
    return re.findall(r'<div class="qr".*?>(<svg.*?</svg>)', source)


def test_the_connect_page_leads_there_and_the_page_back(asked: Elicitation) -> None:
    alice = browser()
    assert path(asked) in [one["href"] for one in Page(alice.get(f"/c/{asked.pk}").text).all("a")]
    page = opened(alice, asked)
    assert page.all("body")[0]["data-page"] == "other_device"
    assert f"/c/{asked.pk}" in [one["href"] for one in page.all("a")]


def test_the_qr_code_is_the_link_and_nothing_else(asked: Elicitation) -> None:
    drawn = drawings(opened(browser(), asked).source)
    assert [qr.read(one) for one in drawn] == [f"{settings.ELICIT_PUBLIC_URL}/c/{asked.pk}"]


@pytest.mark.parametrize("host", ["http://a.example", "https://flows.corp.example:8443", f"https://{'x' * 40}.example"])
def test_the_qr_code_of_other_addresses_can_be_read(host: str) -> None:
    url = f"{host}/c/el_{'Kq3v9ZtY' * 4}"
    [drawn] = drawings(shown("other device", link=url).source)
    assert qr.read(drawn) == url


def test_t11_opening_the_page_makes_no_code(asked: Elicitation) -> None:
    alice = browser()
    for _ in range(3):
        assert not CODE.findall(opened(alice, asked).text())
    alice.head(path(asked))
    assert alice.get(f"{path(asked)}/code").status_code == 405
    assert not UserCode.objects.exists()
    code = made(alice, asked)
    assert CODE.findall(opened(alice, asked).text()) == [code], "it stays there when the page is opened again"


def test_t146_a_code_leads_to_the_link_once(asked: Elicitation) -> None:
    code, phone = made(browser(), asked), Client()
    answer = phone.post("/code", {"code": code.lower().replace("-", " ")})
    assert (answer.status_code, answer["Location"]) == (303, f"/c/{asked.pk}")
    assert phone.post("/code", {"code": code}).status_code == 422
    assert not CODE.findall(opened(browser(), asked).text()), "nor is it shown any more"


def test_t146_of_many_who_type_it_at_once_one_is_led_on(on_postgres: None) -> None:
    row = ask()
    code = made(browser(), row)

    def typed(_: int) -> bool:
        try:
            elicitations.redeem_user_code(code)
        except NotFound:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(typed, range(8))) == [False] * 7 + [True]


def test_t146_a_code_lasts_ten_minutes_and_no_longer_than_the_request(asked: Elicitation) -> None:
    alice = browser()
    code = made(alice, asked)
    kept = UserCode.objects.get()
    assert kept.expires_at is not None
    assert timedelta(minutes=9) < kept.expires_at - clock.now() <= user_codes.PERSONS_CODE_LIFE
    UserCode.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert Client().post("/code", {"code": code}).status_code == 422
    assert not CODE.findall(opened(alice, asked).text())
    Elicitation.objects.update(expires_at=clock.now() + timedelta(minutes=2))
    made(alice, asked)
    kept = UserCode.objects.get()
    assert kept.expires_at is not None
    assert kept.expires_at <= clock.now() + timedelta(minutes=2)


def test_another_code_takes_the_place_of_the_first_and_not_of_the_agents(asked: Elicitation) -> None:
    agents = elicitations.create_user_code(asked)
    alice = browser()
    first, second = made(alice, asked), made(alice, asked)
    assert len({agents, first, second}) == 3
    assert Client().post("/code", {"code": first}).status_code == 422
    assert Client().post("/code", {"code": second}).status_code == 303
    for _ in range(2):
        assert Client().post("/device", {"code": agents}).status_code == 303
    assert elicitations.create_user_code(asked) == agents


@pytest.mark.parametrize("who", ["bob", None])
def test_t1_nobody_else_sees_the_page_or_makes_a_code(asked: Elicitation, who: str | None) -> None:
    stranger = browser(who) if who else Client()
    made(browser(), asked)
    before = UserCode.objects.get().code
    seen = stranger.get(path(asked))
    assert (seen.status_code, drawings(seen.text)) == (403 if who else 200, [])
    assert asked.message not in seen.text
    assert before[:4] not in seen.text
    assert stranger.post(f"{path(asked)}/code").status_code == 403
    assert UserCode.objects.get().code == before


def test_t1_t146_a_code_that_leaks_shows_nobody_the_request(asked: Elicitation) -> None:
    code, thief = made(browser(), asked), browser("bob")
    led = thief.post("/code", {"code": code}, follow=True)
    assert Page(led.text).all("body")[0]["data-page"] == "mismatch"
    assert asked.message not in led.text
    asked.refresh_from_db()
    assert asked.status == "pending"


def test_t146_who_guesses_is_stopped_at_either_address(asked: Elicitation) -> None:
    for number in range(rate_limits.USER_CODES.most):
        assert Client().post(("/code", "/device")[number % 2], {"code": "BBBBBBBB"}).status_code == 422
    code = made(browser(), asked)
    assert Client().post("/code", {"code": code}).status_code == 429
    assert UserCode.objects.exists(), "nor is a code used up by that"


def test_t146_codes_are_not_made_without_end(asked: Elicitation) -> None:
    alice = browser()
    for _ in range(rate_limits.PERSONS_CODES.most):
        made(alice, asked)
    answer = alice.post(f"{path(asked)}/code")
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)


def test_when_the_request_is_over_the_page_says_so(asked: Elicitation) -> None:
    alice = browser()
    code = made(alice, asked)
    elicitations.decline(asked.pk, rows.ALICE_CLAIM)
    for answer in (alice.get(path(asked)), alice.post(f"{path(asked)}/code")):
        assert answer.status_code == 410
        assert Page(answer.text).all("body")[0]["data-page"] == "done"
    assert Client().post("/code", {"code": code}).status_code == 422


def test_a_page_looks_whether_the_request_is_still_open(asked: Elicitation) -> None:
    [place] = re.findall(r'data-open="([^"]+)"', opened(browser(), asked).source)
    assert browser().get(place).json() == {"open": True}
    elicitations.decline(asked.pk, rows.ALICE_CLAIM)
    assert browser().get(place).json() == {"open": False}
