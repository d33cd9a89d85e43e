"""The scripted people, with and without a browser, at a small site that shows them what they sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.support import forms
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.persona import Persona
from tests.support.site import Site

pytestmark = pytest.mark.slow


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    yield served
    served.close()


@pytest.fixture(params=["http_user", "user"])
def person(request: pytest.FixtureRequest) -> Persona:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Persona)
    return found


def test_they_follow_redirects_and_read_the_page(person: Persona, site: Site) -> None:
    person.open(site.url("/away?to=/form"))
    assert (person.url, person.page_name, person.page_status) == (site.url("/form"), "form", "pending")
    assert "Fill in" in person.text
    assert person.actions() == ["submit", "decline"]


def test_they_send_what_the_form_holds_and_what_they_fill_in(person: Persona, site: Site) -> None:
    person.open(site.url("/form"))
    person.press("submit", name="Älice & Co")
    sent = site.last("/send")
    expected = {
        "token": ["t-1"],
        "name": ["Älice & Co"],
        "kind": ["b"],
        "tick": ["yes"],
        "note": ["a\r\nb"],
        "go": ["1"],
    }
    assert parse_qs(sent.body, keep_blank_values=True) == expected
    assert person.page_name == "done"


def test_two_buttons_of_one_form_are_two_actions(person: Persona, site: Site) -> None:
    person.open(site.url("/form"))
    person.press("decline")
    assert parse_qs(site.last("/send").body)["go"] == ["0"]


def test_they_go_on_until_nothing_is_left_to_press(person: Persona, site: Site) -> None:
    person.open(site.url("/form"))
    person.carry_on("again", "decline", "submit")
    assert (person.page_name, len(site.requests("/send"))) == ("done", 1)


def test_they_do_not_go_round_for_ever(person: Persona, site: Site) -> None:
    person.open(site.url("/round"))
    with pytest.raises(AssertionError, match="still going round"):
        person.carry_on("again")


def test_cookies_are_kept_and_are_nobody_elses(
    new_http_user: Callable[..., HttpUser], new_user: Callable[..., User], site: Site
) -> None:
    for make in (new_http_user, new_user):
        one, other = make(), make()
        one.open(site.url("/cookie"))
        one.open(site.url("/form"))
        other.open(site.url("/form"))
        first, second = site.requests("/form")[-2:]
        assert (first.headers.get("cookie"), second.headers.get("cookie")) == ("seen=1", None)


@pytest.mark.parametrize("policy", ["", "no-referrer", "same-origin", "no-referrer&meta=same-origin"])
@pytest.mark.parametrize("target", ["/send", "/away?to=/send2", "elsewhere"])
def test_the_person_without_browser_says_the_same_about_itself_as_the_browser(
    http_user: HttpUser, user: User, site: Site, policy: str, target: str
) -> None:
    """Origin and Sec-Fetch-Site decide whether a form is let through, so they must be those of a browser."""
    other = Site()
    if target == "elsewhere":
        target = other.url("/send")
    try:
        said = []
        for person in (http_user, user):
            person.open(site.url(f"/form?policy={policy}&action={target}"))
            person.press("decline")
            requests = [*site.requests(), *other.requests()]
            said.append(
                [(one.path, {name: one.headers.get(name) for name in NAMES}) for one in requests if not one.icon]
            )
            site.forget()
            other.forget()
        assert said[0] == said[1]
    finally:
        other.close()


NAMES = ("origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "content-type")


def test_without_scripts_none_run(new_user: Callable[..., User], site: Site) -> None:
    site.pages["/script"] = "<body data-page='plain'><script>document.body.dataset.page = 'scripted'</script>"
    for scripts, name in ((True, "scripted"), (False, "plain")):
        person = new_user(scripts=scripts)
        person.open(site.url("/script"))
        assert person.page_name == name


def test_what_the_page_complains_of_is_kept(user: User, site: Site) -> None:
    site.pages["/broken"] = "<body><script>console.error('one'); nowhere()</script>"
    user.open(site.url("/broken"))
    user.page.wait_for_timeout(50)
    assert "one" in user.complaints
    assert any("nowhere" in complaint for complaint in user.complaints)


def test_the_browser_finds_nothing_outside(user: User, site: Site) -> None:
    site.pages["/outside"] = "<body><img src='http://example.com/x.png'>"
    user.open(site.url("/outside"))
    assert any("ERR_NAME_NOT_RESOLVED" in complaint for complaint in user.complaints)


def test_a_screenshot_is_a_picture(user: User, site: Site, tmp_path: Path) -> None:
    user.open(site.url("/form"))
    assert user.screenshot(tmp_path / "form.png").read_bytes().startswith(b"\x89PNG")


def test_asyncio_works_after_the_browser_was_used() -> None:
    """The tests above leave Playwright's loop behind in this thread."""
    assert asyncio.run(asyncio.sleep(0, "ran")) == "ran"


def test_a_redirect_can_be_stopped_at_and_followed_later(http_user: HttpUser, site: Site) -> None:
    with http_user.stopping_at(site.url("/form")):
        answer = http_user.open(site.url("/away?to=/away%3Fto=/form"))
        assert (answer.status_code, http_user.stopped) == (302, True)
        assert urlsplit(http_user.location).path == "/form"
        assert site.requests("/form") == []
    assert len(http_user.trail) == 2
    http_user.follow()
    assert http_user.page_name == "form"


def test_a_request_can_be_replayed_with_and_without_cookies(http_user: HttpUser, site: Site) -> None:
    http_user.open(site.url("/cookie"))
    http_user.open(site.url("/form"))
    http_user.press("decline")
    http_user.replay(http_user.trail[0])
    http_user.replay(http_user.trail[0], cookies=False)
    first, again, bare = site.requests("/send")
    assert again.body == bare.body == first.body
    assert (first.headers["cookie"], again.headers["cookie"], bare.headers.get("cookie")) == ("seen=1", "seen=1", None)


def test_twenty_at_once_are_twenty_at_once(http_user: HttpUser, site: Site) -> None:
    http_user.open(site.url("/cookie"))
    answers = http_user.at_once(http_user.http.build_request("GET", site.url("/meet?people=20")), 20)
    assert [one.status_code for one in answers] == [200] * 20
    assert all(one.headers.get("cookie") == "seen=1" for one in site.requests("/meet"))


def test_a_form_sent_on_by_the_server_is_refused(http_user: HttpUser, site: Site) -> None:
    http_user.open(site.url("/form?action=/away%3Fto=/send%26status=307"))
    with pytest.raises(AssertionError, match="wants the form sent to"):
        http_user.press("decline")


def test_a_button_that_is_not_there_cannot_be_pressed(http_user: HttpUser, site: Site) -> None:
    http_user.open(site.url("/form"))
    with pytest.raises(AssertionError, match="offers"):
        http_user.press("allow")


def test_a_page_is_read_without_its_scripts_and_styles() -> None:
    page = forms.read("<title>T</title><style>a{}</style><script>b()</script><p>c <a href='/d'>e</a>")
    assert (page.title, page.text, page.links) == ("T", "c\ne\n", ["/d"])


def test_the_http_person_speaks_json_only_where_it_is_answered_so(http_user: HttpUser, site: Site) -> None:
    assert json.loads(http_user.get(site.url("/json")).text) == {"ok": True}
    with pytest.raises(httpx2.ConnectError):
        http_user.get("http://127.0.0.1:9/")
