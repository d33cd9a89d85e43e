"""The list of sessions at /account/security: what it says, who can end which, and what is kept for it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from elicit_flows import people
from elicit_flows.domain.values import Claim
from elicit_flows.jobs.purge import purge
from elicit_flows.lib import clock
from elicit_flows.models import SignedIn
from elicit_flows.people.export import export_data
from elicit_flows.web import browsers
from tests.support import rows
from tests.support.rows import ALICE_CLAIM, ISSUER
from tests.web.samples import Page
from tests.web.test_room import browser

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1"
DESK = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"
ENDS = re.compile(r"/account/sessions/(\d+)/end")


@pytest.fixture(autouse=True)
def service(committed: None) -> None:
    rows.agent()  # and with it the identity provider


def signed_in(agent: str = DESK, sub: str = "alice") -> Client:
    client = browser(sub)
    client.defaults["HTTP_USER_AGENT"] = agent
    assert client.get("/account").status_code == 200
    return client


def security(client: Client) -> Page:
    answer = client.get("/account/security")
    assert answer.status_code == 200
    return Page(answer.text)


def page_of(client: Client) -> str | None:
    return Page(client.get("/account").text).all("body")[0]["data-page"]


def test_each_session_says_roughly_where_it_is_and_this_one_comes_first() -> None:
    desk = signed_in()
    signed_in(PHONE)
    SignedIn.objects.filter(browser="Safari").update(used_at=clock.now() - timedelta(hours=3))
    text = security(desk).text()
    assert (
        text.index("Firefox on Linux This browser")
        < text.index("Safari on iPhone Sign out")
        < text.index("3 hours ago")
    )
    assert len(ENDS.findall(security(desk).source)) == 1, "this one is not ended by mistake"


def test_a_person_ends_one_session_and_the_others_go_on() -> None:
    desk, phone, other = signed_in(), signed_in(PHONE), signed_in()
    number = SignedIn.objects.get(browser="Safari").pk
    answer = desk.post(f"/account/sessions/{number}/end", follow=True)
    assert "That session is signed out." in Page(answer.text).text()
    assert [page_of(one) for one in (desk, phone, other)] == ["account", "signin", "account"]
    assert "Safari" not in security(desk).text()


def test_a_person_ends_all_other_sessions() -> None:
    desk, phone = signed_in(), signed_in(PHONE)
    unlisted = browser()  # it was never used, and ends all the same
    answer = desk.post("/account/sessions/others/end", follow=True)
    assert "You are signed out everywhere else." in Page(answer.text).text()
    assert [page_of(one) for one in (desk, phone, unlisted)] == ["account", "signin", "signin"]
    assert SignedIn.objects.count() == 1
    assert "Sign out everywhere else" not in security(desk).text(), "there is nothing to end"


def test_t61_nobody_ends_or_sees_the_session_of_another() -> None:
    alice, bob = signed_in(PHONE), signed_in(sub="bob")
    number = SignedIn.objects.get(sub="alice").pk
    assert "iPhone" not in security(bob).text()
    assert bob.post(f"/account/sessions/{number}/end").status_code == 303, "as for one that has ended"
    assert bob.post("/account/sessions/others/end").status_code == 303
    for path in (f"{number}/end", "others/end"):
        assert Client().post(f"/account/sessions/{path}").status_code == 403
        assert bob.get(f"/account/sessions/{path}").status_code == 405
    assert page_of(alice) == "account"


def test_t130_the_list_keeps_no_cookie_no_address_and_no_version() -> None:
    alice = signed_in()
    kept = SignedIn.objects.values().get()
    for secret in (alice.cookies["sessionid"].value, "127.0.0.1", "Mozilla"):
        assert secret not in str(kept)
    del kept["session_id"]  # a digest may have any digits in it, and so may a time
    assert not [text for text in kept.values() if isinstance(text, str) and "142" in text]
    source = security(alice).source
    assert SignedIn.objects.get().session_id not in source


def test_what_is_kept_goes_with_the_session() -> None:
    alice, left = signed_in(), signed_in(PHONE)
    left.post("/logout")
    assert [row.browser for row in SignedIn.objects.all()] == ["Firefox"]
    Session.objects.update(expire_date=clock.now() - timedelta(seconds=1))
    assert not people.sessions_of(ALICE_CLAIM), "one that is over counts no more"
    assert purge()["sessions"] == 1
    assert not SignedIn.objects.exists()
    assert page_of(alice) == "signin"


def test_t61_signing_out_everywhere_empties_the_list() -> None:
    alice = signed_in()
    signed_in(PHONE)
    alice.post("/logout/everywhere")
    assert not SignedIn.objects.exists()


def test_the_last_use_is_exact_to_the_hour_and_costs_no_write_in_between() -> None:
    alice = signed_in()
    first = SignedIn.objects.get().used_at
    security(alice)
    assert SignedIn.objects.get().used_at == first
    SignedIn.objects.update(used_at=first - timedelta(hours=2))
    security(alice)
    assert SignedIn.objects.get().used_at >= first


def test_t11_opening_a_link_notes_nothing() -> None:
    alice = browser()
    assert alice.get("/c/el_nothing").status_code == 404
    assert not SignedIn.objects.exists()


def test_the_list_is_in_the_file_of_ones_data() -> None:
    signed_in(PHONE)
    signed_in(sub="bob")
    [one] = export_data(ALICE_CLAIM)["sessions"]
    assert (one["browser"], one["system"], set(one)) == (
        "Safari",
        "iPhone",
        {"browser", "system", "began_at", "used_at"},
    )
    assert export_data(Claim(ISSUER, "nobody"))["sessions"] == []


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (PHONE, ("Safari", "iPhone")),
        (DESK, ("Firefox", "Linux")),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36", ("Chrome", "Windows")),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", ("Edge", "Windows")),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0 Safari/537.36 OPR/120.0", ("Opera", "macOS")),
        ("Mozilla/5.0 (Linux; Android) SamsungBrowser/28.0 Chrome/130.0 Safari/537", ("Samsung Internet", "Android")),
        ("Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) CriOS/140.0 Mobile/15E148 Safari/604.1", ("Chrome", "iPad")),
        ("Mozilla/5.0 (X11; CrOS x86_64 16000.0.0) Chrome/140.0 Safari/537.36", ("Chrome", "ChromeOS")),
        ("curl/8.5.0", ("", "")),
        ("", ("", "")),
        ("<script>Firefox/1</script>" + "x" * 10_000, ("Firefox", "")),
    ],
)  # fmt: skip
def test_a_browser_is_named_roughly(said: str, named: tuple[str, str]) -> None:
    assert browsers.named({"User-Agent": said}) == named
