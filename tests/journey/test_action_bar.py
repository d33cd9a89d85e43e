"""The two buttons of a request are always within reach, and cover nothing that has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser

PHONE = {"width": 375, "height": 667}
LONG = "Line after line of what the agent says.\n" * 40
FIELDS = [{"id": f"q{n}", "kind": "text", "message": f"Question {n}", "required": True} for n in range(9)]
# The top and the bottom of both buttons, and the height of the window.
BOXES = """() => [...document.querySelectorAll('.go button, .no button')]
  .map(one => one.getBoundingClientRect()).flatMap(one => [one.top, one.bottom]).concat(innerHeight)"""
# Whether the middle of what has the focus can be seen: nothing lies over it.
SEEN = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  const there = document.elementFromPoint(box.left + box.width / 2, Math.min(box.bottom, box.top + 40) - 4);
  return one === document.body || one.contains(there) || there?.contains(one) && !there.matches('.go, .no');
}"""


def _open(stage: Stage, user: User, http_user: HttpUser, **asked: Any) -> None:
    http_user.open(f"{stage.box.url}/account")
    http_user.press("signin", provider="corp")
    http_user.press("alice")
    cookie: Any = {"name": "sessionid", "value": http_user.http.cookies["sessionid"], "url": stage.box.url}
    user.context.add_cookies([cookie])
    user.open(stage.ask(**asked)["url"])


ASKED: list[dict[str, Any]] = [
    {"message": LONG[:1900]},
    {"kind": "form", "params": {"questions": FIELDS}},
    {"kind": "confirm", "message": LONG[:1900], "params": {"detail": LONG[:900], "danger": True}},
]


@pytest.mark.parametrize("asked", [ASKED[0], pytest.param(ASKED[1], marks=pytest.mark.slow), ASKED[2]])
def test_on_a_phone_both_buttons_are_in_view_wherever_the_page_is_scrolled_to(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser, asked: dict[str, Any]
):
    user = new_user(viewport=PHONE, is_mobile=True, has_touch=True)
    _open(stage, user, http_user, **asked)
    assert user.page.evaluate("document.documentElement.scrollHeight") > 2 * PHONE["height"]
    for _ in range(3):
        *boxes, height = user.page.evaluate(BOXES)
        assert len(boxes) == 4
        assert all(0 <= edge <= height for edge in boxes), (boxes, height)
        assert boxes[:2] == boxes[2:], "one line, of one height"
        assert boxes[1] - boxes[0] >= 44
        user.page.mouse.wheel(0, 400)
        user.page.wait_for_timeout(100)


def test_the_bar_covers_nothing_that_has_the_focus(stage: Stage, new_user: Callable[..., User], http_user: HttpUser):
    user = new_user(viewport=PHONE)
    _open(stage, user, http_user, **ASKED[1])
    reached = 0
    for _ in range(30):
        user.page.keyboard.press("Tab")
        assert user.page.evaluate(SEEN), user.page.evaluate("document.activeElement.outerHTML")
        reached += user.page.evaluate("document.activeElement.matches('.field input')")
    assert reached >= len(FIELDS)


def test_magnified_four_times_the_bar_stays_in_its_place(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser
):
    user = new_user(viewport={"width": 320, "height": 256})
    _open(stage, user, http_user, **ASKED[0])
    placed = "[...document.querySelectorAll('.go, .no')].map(one => getComputedStyle(one).position)"
    assert user.page.evaluate(placed) == ["static", "static"]
    assert user.page.evaluate("document.documentElement.scrollWidth") <= 320


def test_on_a_desk_the_question_is_on_the_left_and_the_answer_on_the_right(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser
):
    user = new_user(viewport={"width": 1440, "height": 900})
    _open(stage, user, http_user, **ASKED[0])
    ask, act = (user.page.locator(name).bounding_box() for name in (".ask", ".act"))
    assert ask is not None
    assert act is not None
    assert ask["x"] + ask["width"] < act["x"]
    user.page.mouse.wheel(0, 500)
    *boxes, height = user.page.evaluate(BOXES)
    assert all(0 <= edge <= height for edge in boxes), (boxes, height)
