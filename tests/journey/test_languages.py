"""A link in the person's language: from the suggestion on create to the identity provider's page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.journey.stage import Stage, query
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

PHONE = {"width": 375, "height": 720}
LANGUAGE = "document.documentElement.lang"


def test_the_suggestion_goes_with_the_person_to_the_identity_provider(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(locale="pt-BR")
    assert asked["locale"] == "pt-BR"
    http_user.open(asked["url"])
    with http_user.stopping_at(stage.corp.issuer):
        http_user.press("signin")
    assert query(http_user.location)["ui_locales"] == "pt-BR"


@pytest.mark.parametrize("locale", ["", "de_DE", "../../etc", "d", "de-", "x" * 36, 7])
def test_what_is_no_language_tag_is_refused(stage: Stage, locale: object) -> None:
    answer = stage.try_to_ask(locale=locale)
    assert (answer.status_code, [one["loc"] for one in answer.json().get("errors", [])]) == (422, [["locale"]])


def test_the_switch_works_without_scripts_and_goes_before_what_the_agent_suggests(
    stage: Stage, new_user: Callable[..., User]
) -> None:
    user = new_user(scripts=False, locale="de-DE")
    asked = stage.ask(locale="fr")
    user.open(asked["url"])
    assert user.page.locator("html").get_attribute("lang") == "fr"
    user.page.locator("#language").select_option("ja")
    with user.page.expect_navigation():
        user.page.locator("form.language button").click()
    assert (user.url, user.page.locator("html").get_attribute("lang")) == (asked["url"], "ja")
    user.carry_on("signin", "alice")
    assert (user.page_name, user.page.locator("html").get_attribute("lang")) == ("consent", "ja")


def test_a_page_from_right_to_left_fits_a_phone(stage: Stage, new_user: Callable[..., User]) -> None:
    user = new_user(locale="ar-EG", viewport=PHONE, is_mobile=True, has_touch=True)
    asked = stage.ask()
    for path in ("/", "/device", "/catalogue", "/account"):
        user.open(f"{stage.box.url}{path}")
        assert user.page.locator("html").get_attribute("dir") == "rtl"
        assert user.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    assert (user.page_name, user.page.evaluate(LANGUAGE)) == ("consent", "ar")
    assert user.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert user.complaints == []


def test_times_are_those_of_the_browser(stage: Stage, new_user: Callable[..., User]) -> None:
    """The first page cannot know the time zone; every later one does."""
    user = new_user(locale="de-DE", timezone_id="America/New_York")
    user.open(f"{stage.box.url}/")

    def kept() -> bool:
        return ("timezone", "America/New_York") in [(one["name"], one["value"]) for one in user.context.cookies()]

    until(kept, "the browser has told its time zone")
    assert user.complaints == []
