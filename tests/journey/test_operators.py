"""The operators' own pages in a browser: on a phone, by keyboard, without scripts, and through axe-core."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cast import Operator
from tests.journey.stage import Stage
from tests.journey.test_accessibility import PHONE
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.web.gallery_axe import RUN, WIDTH, bring_axe

pytestmark = pytest.mark.slow

OSCAR = Operator("oscar", "the-password-of-oscar")
DESK = {"width": 1440, "height": 900}
PRESSED = "main :is(button, summary, input, select, a.reach), header :is(a, button)"
SMALL = f"""() => [...document.querySelectorAll('{PRESSED}')]
  .filter(one => one.type !== 'hidden' && one.checkVisibility() && one.getBoundingClientRect().height < 43.5)
  .map(one => one.outerHTML)"""


@pytest.fixture(scope="module")
def oscar(embedded_box: Box) -> Operator:
    return embedded_box.add_operator(OSCAR)


def enter(user: User, box: Box, who: Operator) -> None:
    user.open(f"{box.url}/admin/login/?next=/admin/")
    user.page.fill("[name=username]", who.username)
    user.page.fill("[name=password]", who.password)
    with user.page.expect_navigation():
        user.page.click("[type=submit]")


def search(user: User, what: str) -> None:
    user.page.fill("#find", what)
    with user.page.expect_navigation():
        user.page.press("#find", "Enter")


def look(user: User, width: int) -> None:
    """No rule of axe is broken in light or in dark, and nothing is wider than the window."""
    for scheme, rules in (("light", None), ("dark", ["color-contrast"])):  # nothing else depends on the colours
        user.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert user.page.evaluate(RUN, rules) == [], (user.url, scheme)
    assert user.page.evaluate(WIDTH) <= width, user.url


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_the_operators_pages_are_accessible(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser, oscar: Operator, viewport: dict[str, int],
) -> None:  # fmt: skip
    done, waiting = stage.ask(), stage.ask(message="A long word: " + "x" * 200)
    stage.complete(http_user, done)
    user = new_user(viewport=viewport)
    bring_axe(user)
    enter(user, stage.box, oscar)
    search(user, f"{stage.corp.issuer} alice")  # other tests ask an alice of other issuers
    person = user.url
    for address in (
        person, f"{person}?show=requests", f"{stage.box.url}/admin/request/{done['id']}/",
        f"{stage.box.url}/admin/request/{waiting['id']}/", f"{stage.box.url}/admin/audit/?what=made",
        f"{stage.box.url}/admin/audit/?since=x", f"{stage.box.url}/admin/search/",
    ):  # fmt: skip
        user.open(address)
        for one in user.page.locator("summary").all():
            one.click()
        look(user, viewport["width"])
        assert user.page.evaluate(SMALL) == [], address
    assert user.complaints == []
    user.page.emulate_media(color_scheme="light")  # before it is opened, as Django's links change their colour slowly
    user.open(f"{stage.box.url}/admin/")
    look(user, viewport["width"])


def test_an_operator_follows_a_request_and_cancels_it_by_keyboard_and_without_scripts(
    stage: Stage, new_user: Callable[..., User], oscar: Operator
) -> None:
    asked = stage.ask()
    user = new_user(scripts=False, viewport=PHONE)
    enter(user, stage.box, oscar)
    search(user, asked["url"])
    assert user.url == f"{stage.box.url}/admin/request/{asked['id']}/"
    assert "The agent asked" in user.text
    user.page.keyboard.press("Tab")
    assert user.page.locator(":focus").inner_text() == "Skip to the content"
    user.page.keyboard.press("Enter")
    for _ in range(20):
        user.page.keyboard.press("Tab")
        if user.page.locator(":focus").inner_text() == "Cancel the request":
            break
    user.page.keyboard.press("Enter")
    user.page.keyboard.press("Tab")
    assert user.page.locator(":focus").inner_text() == "Yes: Cancel the request"
    with user.page.expect_navigation():
        user.page.keyboard.press("Enter")
    assert user.page.locator("[role=status]").inner_text() == "1 request was cancelled."
    assert "Operator oscar" in user.text
    assert stage.status(asked) == "cancelled"
    assert stage.events(asked)[-1] == "cancelled"


def test_an_operator_ends_a_persons_sessions_and_they_have_to_sign_in_again(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser, oscar: Operator
) -> None:
    asked = stage.ask()
    stage.complete(http_user, asked)
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "account"
    user = new_user(scripts=False, viewport=PHONE)
    enter(user, stage.box, oscar)
    search(user, f"{stage.corp.issuer} alice")  # other tests ask an alice of other issuers
    assert "alice" not in user.url
    user.page.click("summary:has-text('End all sessions')")
    with user.page.expect_navigation():
        user.page.click("button:has-text('Yes: End all sessions')")
    assert "All their sessions have ended." in user.page.locator("[role=status]").inner_text()
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "signin"
