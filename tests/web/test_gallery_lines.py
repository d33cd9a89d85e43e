"""Where lines begin and end on the gallery's pages: words, dates and labels that a browser must not take apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from tests.support.box import Box
from tests.support.browser import User
from tests.support.sweeps import sweep
from tests.web.gallery_axe import PHONE, WIDTH
from tests.web.samples import shown
from tests.web.test_gallery import ZOOMED

# Of each text that fits the pattern, in what is named: the text, and on how many lines it stands.
LINES = r"""([selector, pattern]) => [...document.querySelectorAll(selector)].flatMap(one => {
  const found = [], texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    if (texts.currentNode.parentElement.closest('.unseen, option')) continue;
    for (const part of texts.currentNode.data.matchAll(new RegExp(pattern, 'gu'))) {
      range.setStart(texts.currentNode, part.index);
      range.setEnd(texts.currentNode, part.index + part[0].length);
      found.push([part[0], new Set([...range.getClientRects()].map(line => Math.round(line.top))).size]);
    }
  }
  return found;
})"""
WORD = r"\S+"
# Parts of dates and times that no-break spaces hold together, and whole dates in Chinese and Japanese.
HAN_DATE = r"\d{4}\u2060?年\u2060?\d+\u2060?月\u2060?\d+\u2060?日"
LETTER = r"[\p{Script=Latin}\p{Script=Arabic}\p{Script=Hangul}\d.,:]"
DATE = rf"{HAN_DATE}|{LETTER}+(?:[\u00a0\u202f]{LETTER}+)+"
DATED = ("which-account-of-several", "answered-before", "one-subscription", "payments", "mandates", "passkeys")


def lines(user: User, selector: str, pattern: str) -> list[tuple[str, int]]:
    found: list[Any] = user.page.evaluate(LINES, [selector, pattern])
    return [(text, count) for text, count in found]


@pytest.mark.slow
@pytest.mark.limit(120)
@pytest.mark.parametrize("width", [ZOOMED, PHONE])
def test_no_date_and_no_time_is_broken_in_any_language(
    embedded_box: Box, new_user: Callable[..., User], width: int
) -> None:
    user = new_user(viewport={"width": width, "height": 640})
    for language, _ in settings.LANGUAGES:
        for address in DATED:
            user.open(f"{embedded_box.url}/_gallery/{address}?lang={language}")
            dates = lines(user, "main", DATE)
            assert dates, (language, address)
            assert {count for _, count in dates} == {1}, (language, address, dates)
            assert user.page.evaluate(WIDTH) <= width, (language, address)


def test_the_no_of_a_request_is_on_one_line_where_both_labels_have_room(
    embedded_box: Box, new_user: Callable[..., User]
) -> None:
    user = new_user(viewport={"width": PHONE, "height": 640})
    on_one_line = set()
    for language, _ in settings.LANGUAGES:
        user.open(f"{embedded_box.url}/_gallery/consent?lang={language}")
        [(_, count)] = lines(user, ".no button", r"\S.*\S")
        on_one_line |= {language} if count == 1 else set()
        words = lines(user, ".go button, .no button", WORD)
        assert [one for one in words if one[1] > 1] == [], language
        yes, no = (user.page.locator(f"{one} button").bounding_box() or {} for one in (".go", ".no"))
        assert yes["width"] > no["width"], language
    assert on_one_line == {"en", "es", "pt-br", "pl", "ja", "ko", "zh-hans", "ar"}


@pytest.mark.parametrize("host", ["accounts.google.com", "login.microsoftonline.com"])
def test_a_long_host_has_the_room_of_the_no(host: str) -> None:
    [no] = [one for one in shown("consent", what={"title": "Drive", "host": host}).all("form") if "no" in classes(one)]
    assert classes(no) == {"no", "slim"}
    [no] = [one for one in shown("consent").all("form") if "no" in classes(one)]
    assert classes(no) == {"no"}


def classes(attributes: dict[str, str | None]) -> set[str]:
    return set((attributes.get("class") or "").split())


# How far the text of another direction begins from the side where the lines of the page begin.
INDENT = """one => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return one.closest('p').getBoundingClientRect().right - range.getBoundingClientRect().right;
}"""


def test_an_english_text_begins_where_the_lines_of_an_arabic_page_do(embedded_box: Box, user: User) -> None:
    user.open(f"{embedded_box.url}/_gallery/catalogue?lang=ar")
    note = user.page.get_by_text("A note.")
    assert note.evaluate(INDENT) < 1
    assert note.evaluate("one => getComputedStyle(one).direction") == "ltr"


# Words and particles of titles that would else be taken apart on a phone, where neither language has spaces.
TITLES = {
    "ja": (
        r"お支払い方\u2060?法|\S*[ \u00a0][をにと](?=支払|連携|移動|変更|共有|断っ)",
        ("save", "credentials", "x402", "connected", "declined-before", "link", "another-price-month"),
    ),
    "zh-hans": (
        r"分\u2060?享|目\u2060?前|保\u2060?存|日\u2060?后|每\u2060?月",
        ("save", "credentials", "unavailable", "mandate", "another-price-month"),
    ),
}


@pytest.mark.parametrize("language", sweep(TITLES, lambda _: "a language without spaces"))
def test_words_of_titles_stay_whole_where_words_have_no_spaces(
    embedded_box: Box, new_user: Callable[..., User], language: str
) -> None:
    user = new_user(viewport={"width": PHONE, "height": 640})
    pattern, addresses = TITLES[language]
    for address in addresses:
        user.open(f"{embedded_box.url}/_gallery/{address}?lang={language}")
        assert {count for _, count in lines(user, "h1", pattern)} == {1}, address


EDGES = """() => [...document.querySelectorAll('.foot .button')].map(one => {
  const [button, words] = [one.getBoundingClientRect(), one.previousElementSibling.getBoundingClientRect()];
  return [Math.round(button.left), Math.round(button.right), button.top >= words.bottom];
})"""


@pytest.mark.parametrize("width", [PHONE, pytest.param(1440, marks=pytest.mark.slow)])
def test_the_buttons_of_a_list_stand_below_each_other(
    embedded_box: Box, new_user: Callable[..., User], width: int
) -> None:
    user = new_user(viewport={"width": width, "height": 900})
    for address in ("requests", "requests-answered"):
        for language, _ in settings.LANGUAGES:
            user.open(f"{embedded_box.url}/_gallery/{address}?lang={language}")
            edges = {tuple(one) for one in user.page.evaluate(EDGES)}
            end = {(left if language == "ar" else right) for left, right, _ in edges}
            assert len(end) == 1, (address, language, edges)
            assert {below for *_, below in edges} == {width == PHONE}, (address, language)
