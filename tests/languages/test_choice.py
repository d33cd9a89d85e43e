"""How the language of a page is chosen, and the switch on each page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.template import Context, Template
from django.test import Client, RequestFactory
from django.utils import translation

from elicit_flows.lib import clock, locales
from elicit_flows.models import Elicitation
from elicit_flows.web import languages
from tests.support import rows

pytestmark = pytest.mark.django_db
COOKIE, ZONE = settings.LANGUAGE_COOKIE_NAME, settings.ELICIT_TIMEZONE_COOKIE


def link(locale: str | None) -> str:
    """The path of a request whose agent suggests ``locale``."""
    known = rows.agent()
    row = Elicitation.objects.create(
        agent=known.row,
        kind="confirm",
        iss="https://idp.test",
        sub="alice",
        message="May I?",
        params={},
        locale=locale,
        expires_at=clock.now() + timedelta(minutes=15),
    )
    return f"/c/{row.pk}"


def language_of(path: str, cookie: str = "", browser: str = "") -> str:
    client = Client()
    if cookie:
        client.cookies[COOKIE] = cookie
    answer = client.get(path, headers={"accept-language": browser} if browser else {})
    said = answer["Content-Language"]
    right_to_left = translation.get_language_info(said)["bidi"]
    assert f'<html lang="{said}" dir="{"rtl" if right_to_left else "ltr"}">' in answer.content.decode()
    return said


@pytest.mark.parametrize(
    ("browser", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,en;q=0.5", "de"),
        ("sw,pt;q=0.8", "pt-br"),
        ("zh-CN", "zh-hans"),
        ("ar-EG", "ar"),
        ("tlh", "en"),
        ("*", "en"),
        ("en-GB,de;q=0.9", "en"),
        ("../../etc/passwd, de\x00", "en"),
        ("x" * 5000, "en"),
    ],
)
def test_a_browser_gets_the_first_of_its_languages_that_there_is(browser: str, language: str) -> None:
    assert language_of("/", browser=browser) == language


@pytest.mark.parametrize(
    ("cookie", "suggested", "browser", "language"),
    [
        ("", "fr", "de", "fr"),
        ("", "fr-CA", "", "fr"),
        ("", "pt-BR", "de", "pt-br"),
        ("", "zh-Hans-CN", "de", "zh-hans"),
        ("", "tlh", "de", "de"),
        ("", None, "de", "de"),
        ("ja", "fr", "de", "ja"),
        ("xx", "fr", "de", "fr"),
        ("../../../etc", "fr", "de", "fr"),
    ],
)
def test_a_suggestion_goes_before_the_browser_and_never_before_the_persons_own_choice(
    cookie: str, suggested: str | None, browser: str, language: str
) -> None:
    assert language_of(link(suggested), cookie, browser) == language


def test_the_operators_default_is_for_browsers_that_ask_for_nothing_there_is(settings: pytest.FixtureRequest) -> None:
    settings.ELICIT_LANGUAGE = "pl"  # type: ignore[attr-defined]
    assert language_of("/", browser="tlh") == "pl"


def test_the_admin_has_fewer_languages(client: Client) -> None:
    assert client.get("/admin/login/", headers={"accept-language": "ja,de;q=0.5"})["Content-Language"] == "de"
    assert client.get("/admin/login/", headers={"accept-language": "ja"})["Content-Language"] == "en"


def test_a_stored_page_is_for_readers_of_the_same_language_alone(client: Client) -> None:
    answer = client.get("/")
    assert {"Accept-Language", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}
    assert answer["Cache-Control"] == "no-store"


class Switch(HTMLParser):
    """The fields and the languages of the switch on a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.inside, self.action = False, ""
        self.fields: dict[str, str] = {}
        self.offered: dict[str, str | None] = {}
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.inside = given.get("class") == "language"
            self.action = str(given["action"]) if self.inside else self.action
        elif self.inside and tag == "input":
            self.fields[str(given["name"])] = str(given["value"])
        elif self.inside and tag == "option":
            self.offered[str(given["value"])] = given.get("lang")


@pytest.mark.parametrize("path", ["/", "/device", "/catalogue?q=git&kind=oauth", "/account", "link"])
def test_the_switch_needs_no_script_and_stays_on_the_page(path: str) -> None:
    path = link(None) if path == "link" else path
    client = Client(enforce_csrf_checks=True)
    switch = Switch(client.get(path).content.decode())
    assert set(switch.offered) == {code for code, _ in settings.LANGUAGES}
    assert all(lang == code for code, lang in switch.offered.items()), "a screen reader reads each in its own language"
    answer = client.post(switch.action, {**switch.fields, "language": "ar"})
    assert (answer.status_code, answer["Location"]) == (303, path)
    assert client.get(path)["Content-Language"] == "ar"
    # A browser that asks for another one, and an agent that suggests one, change nothing of that.
    assert client.get(path, headers={"accept-language": "de"})["Content-Language"] == "ar"


def test_a_page_that_a_form_led_to_is_opened_again_under_its_own_address() -> None:
    client = Client()
    switch = Switch(client.post("/device", {"code": "NONE"}).content.decode())
    assert switch.fields["here"] == "/device"
    path = link(None)
    assert Switch(client.post(f"{path}/decline").content.decode()).fields["here"] == path


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("/callback/drive?state=the-state&code=the-code", "/"),
        ("/login/corp/callback?state=the-state&code=the-code", "/"),
        ("/payments/main/return?session_id=the-code", "/"),
        ("/device?user_code=the-code", "/device"),
        ("/catalogue?q=drive", "/catalogue?q=drive"),
    ],
)
@pytest.mark.django_db
def test_t34_the_switch_repeats_no_code_and_no_state(address: str, here: str) -> None:
    page = Client(headers={"accept": "text/html"}).get(address).content.decode()
    assert Switch(page).fields["here"] == here
    assert "the-code" not in page
    assert "the-state" not in page


def test_the_switch_refuses_a_form_from_elsewhere() -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/language", {"language": "de", "here": "/"})
    assert answer.status_code == 403
    assert COOKIE not in client.cookies


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/", "//evil.example", "/\\evil.example", "/c/../..//evil.example", "javascript:alert(1)",
        "/account\r\nSet-Cookie: a=b", "/v1/events", "/admin/logout/", "/static/x", "/account@evil.example", "",
    ],
)  # fmt: skip
def test_the_switch_is_no_open_redirect(elsewhere: str, client: Client) -> None:
    answer = client.post("/language", {"language": "de", "here": elsewhere})
    assert (answer.status_code, answer["Location"]) == (303, "/")


@pytest.mark.parametrize("wrong", ["xx", "../../de", "de/../fr", "DE\x1b", "d" * 100])
def test_an_unknown_choice_is_not_kept(wrong: str, client: Client) -> None:
    client.post("/language", {"language": wrong, "here": "/"})
    assert COOKIE not in client.cookies


def test_a_choice_can_be_taken_back(client: Client) -> None:
    client.post("/language", {"language": "de", "here": "/"})
    cookie = client.cookies[COOKIE]
    assert (cookie.value, cookie["httponly"], cookie["samesite"]) == ("de", True, "Lax")
    client.post("/language", {"language": "", "here": "/"})
    assert client.cookies[COOKIE].value == ""


def test_one_page_leaves_nothing_of_its_language_to_the_next_answer_of_the_thread(client: Client) -> None:
    client.get("/", headers={"accept-language": "de"})
    assert translation.get_language() == "en"


def test_times_and_amounts_are_in_the_locale_and_the_zone_of_the_browser() -> None:
    at = datetime(2026, 11, 22, 20, 15, tzinfo=UTC)

    def shown(language: str, cookies: dict[str, str]) -> str:
        request = RequestFactory().get("/", headers={"accept-language": language})
        request.COOKIES.update(cookies)
        page = Template("{% load elicit %}{{ at|moment }}; {% money 123450 'eur' %}")
        return languages.Languages(lambda _: HttpResponse(page.render(Context({"at": at}))))(request).content.decode()

    assert shown("en-US", {}) == "November\u00a022, 2026, 8:15\u202fPM\u00a0UTC; €1,234.50"
    assert shown("en-GB", {ZONE: "Asia/Kathmandu"}) == "23\u00a0November 2026, 02:00; €1,234.50"
    assert shown("de-AT", {ZONE: "America/New_York"}) == "22.\u00a0November 2026, 15:15; €\xa01.234,50"
    for wrong in ("../../etc/passwd", "Nowhere/Here", "", "Europe/Berlin\x00", "x" * 5000):
        assert shown("de", {ZONE: wrong}) == "22.\u00a0November 2026, 20:15\u00a0UTC; 1.234,50\xa0€"


@pytest.mark.parametrize("language", ["en", "ar", "ko"])
def test_a_time_stays_on_one_line(language: str) -> None:
    at = datetime(2026, 11, 22, 20, 15, tzinfo=UTC)
    shown = locales.clock_time(at, ZoneInfo("Europe/Berlin"), locales.of(language))
    assert len(shown.split()) == 2, "the hour, and the half of the day"
    assert " " not in shown
    assert ("PM" in shown) == (language == "en")


def test_a_tag_is_spelled_as_others_spell_it() -> None:
    assert [locales.tag(code) for code in ("en", "pt-br", "zh-hans")] == ["en", "pt-BR", "zh-Hans"]


@pytest.mark.parametrize(
    "path", ["/code", "/device", "/unsubscribe/v1.k-1.AA_x", "/login/here/passkey", "/account/delete"]
)
def test_the_switch_leads_back_to_a_page_that_can_be_opened_again(path: str, client: Client) -> None:
    for answer in (client.get(path), client.post(path)):
        here = Switch(answer.content.decode()).fields["here"]
        assert here == path
        assert client.post("/language", {"language": "de", "here": here})["Location"] == path


@pytest.mark.parametrize(
    "path", ["/account/payments/mandates/x/lower", "/account/sessions/1/end", "/account/notifications"]
)
def test_the_switch_leads_to_no_address_that_takes_forms_alone(path: str, client: Client) -> None:
    assert client.get(path).status_code == 405
    assert Switch(client.post(path).content.decode()).fields["here"] == "/account"
