"""Hostile text in every place that others can fill: it never becomes markup (T52) and cannot hide (T53)."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest

from elicit_flows.web.middleware import CSP
from gallery.account import payments_page, requests_page
from gallery.everywhere import Context
from gallery.states import BARE, PAGES
from tests.support.sweeps import sweep
from tests.web.samples import ROOT, STATES, Page, render, shown

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))

PAYLOADS = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</blockquote></main><h1>Signed in</h1>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    '" style="position:fixed;inset:0',
    "javascript:alert(1)",
    "[click](javascript:alert(1))",
    "<a href=https://evil.example>Continue</a>",
    "<form action=https://evil.example><button>Continue</button></form>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<base href=//evil.example>",
    "<!-- ",
    "]]><b>",
    "&lt;b&gt; &amp; &#60;b&#62;",
    "{{ csrf_token }}{% debug %}{% load static %}",
    "%(agent)s %s %% %(host)s",
    "\ufeff\u202e<b>\u200b\x00\x0b",
    "＜script＞alert(1)＜/script＞",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "line\r\n<b>line",
]
# What is escaped is escaped letter by letter: one text that has them all. An address is judged by how it begins.
HOSTILE_TEXT, JAVASCRIPT = "".join(PAYLOADS), "javascript:alert(1)"
URL_FIELDS = {
    "url", "return_url", "connect_url", "undo_url", "back_url", "receipt_url", "find_url", "source_url", "here_url",
    "more_url", "start_url", "passkeys_url",
}  # fmt: skip
OURS = {
    "csrf_token", "status", "method", "where", "type", "anchor", "tag", "press", "mode", "dispute", "currency",
    "outcome_templates", "kind_template", "next_template", "control", "sort", "zone", "zones", "zone_name", "own",
    "own_name", "yes", "no", "inputmode", "autocomplete", "low", "high", "draft_url", "languages", "same_page",
    "timezone_cookie", "tab", "part", "all_of", "ceremony", "options", "state",
}  # fmt: skip


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where in a context a string stands that is not our own word."""
    if isinstance(value, dict):
        return [p for key, inner in value.items() if key not in OURS for p in places(inner, (*path, key))]
    if isinstance(value, list):
        return [p for index, inner in enumerate(value) for p in places(inner, (*path, index))]
    return [path] if isinstance(value, str) and value else []


def with_text(context: Context, paths: list[tuple[str | int, ...]], value: str) -> Context:
    changed = deepcopy(context)
    for path in paths:
        inner: Any = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return changed


def javascript_links(page: Page) -> list[dict[str, str | None]]:
    return [link for link in page.all("a") if "javascript:" in str(link["href"])]


@pytest.mark.parametrize("name", STATES)
def test_t52_no_text_of_others_becomes_markup(name: str) -> None:
    template, _, make = PAGES[name]
    context = make()
    hostile, plain = (
        render(template, with_text(context, places(context), text)).skeleton() for text in (HOSTILE_TEXT, "plain")
    )
    assert hostile == plain


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_t52_nor_does_a_text_that_is_alone_become_markup(name: str) -> None:
    """The page may then show parts that it has not with the text in every place."""
    template, _, make = PAGES[name]
    context = make()
    as_it_is = render(template, context).skeleton()
    for path in places(context):
        skeleton = render(template, with_text(context, [path], HOSTILE_TEXT)).skeleton()
        if skeleton != as_it_is:  # the place decides what the page shows, and any other text would show the same
            assert skeleton == render(template, with_text(context, [path], "plain")).skeleton(), path


@pytest.mark.parametrize("name", STATES)
def test_t52_no_text_of_others_becomes_a_link_that_runs_script(name: str) -> None:
    template, _, make = PAGES[name]
    context = make()
    assert not javascript_links(render(template, with_text(context, places(context), JAVASCRIPT)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_t52_nor_does_a_text_that_stands_in_one_place_alone(name: str) -> None:
    """The page may then have links that it has not with the text in every place."""
    template, _, make = PAGES[name]
    context = make()
    for path in places(context):
        assert not javascript_links(render(template, with_text(context, [path], JAVASCRIPT))), path


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "/\\evil.example", "java\tscript:x"]
)
def test_t52_an_address_that_is_not_of_the_web_is_no_link(url: str):
    done, refused = shown("done, completed", return_url=url), shown("refused", back_url=url)
    waiting = shown("requests", requests=[{**requests_page()["requests"][0], "url": url}])
    paid = shown("payments", payments=[{**payments_page()["payments"][0], "receipt_url": url}])
    for page in (done, refused, paid, waiting, shown("done, pending", connect_url=url)):
        assert url not in [link["href"] for link in page.all("a")]


HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff\u2060\x00-\x09\x0b-\x1f]")


INVISIBLE = "a\u202eb\u200bc\ufeff\u2066d\u200d\x00e"
# What goes into an address or is ours is checked where it is made.
CHECKED_ELSEWHERE = URL_FIELDS | {
    "next", "continue_url", "submit_url", "decline_url", "choose_url", "switch_url", "login_url", "draft_url", "asked",
    "brand", "id", "host", "agent_host", "slug", "name",
    # What is in a control goes back as it is: of the agent's, ``clean`` and ``describe`` let nothing invisible in.
    "value", "page",
}  # fmt: skip
SHOWING = [name for name in PAGES if PAGES[name][1] not in {"docs", "home"} and name not in BARE]


def shown_places(context: Context) -> list[tuple[str | int, ...]]:
    """Without what people typed, which stays as it is."""
    found = places(context)
    return [p for p in found if p[-1] not in CHECKED_ELSEWHERE and not {"host_warning", "typed"} & set(p)]


def hidden(template: str, context: Context) -> re.Match[str] | None:
    return HIDDEN.search(render(template, context).source.replace("\r", ""))


@pytest.mark.parametrize("name", sweep(SHOWING, lambda name: PAGES[name][0]))
def test_t53_nothing_invisible_reaches_a_page(name: str) -> None:
    template, _, make = PAGES[name]
    context = make()
    assert not hidden(template, with_text(context, shown_places(context), INVISIBLE))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWING)
def test_t53_nor_does_it_from_one_place_alone(name: str) -> None:
    """The page may then have parts that it has not with the text in every place."""
    template, _, make = PAGES[name]
    context = make()
    for path in shown_places(context):
        assert not hidden(template, with_text(context, [path], INVISIBLE)), path


# Words of ours that come by the context, and single words without a sign that could change sides.
OUR_WORDS = {
    "faults", "error", "why", "wrong", "kind", "level", "symbol", "back_label", "word", "browser", "system",
}  # fmt: skip
WHOLE_PAGE_IS_OURS = {"refused", "unavailable", "unavailable, asked here"}
MARKER = "Marker"


@pytest.mark.parametrize(
    "name", sweep([name for name in SHOWING if name not in WHOLE_PAGE_IS_OURS], lambda name: PAGES[name][0])
)
def test_a_text_of_others_has_a_direction_of_its_own(name: str) -> None:
    """Otherwise "12 files" reads "files 12" on an Arabic page."""
    template, _, make = PAGES[name]
    context = make()
    found = [path for path in shown_places(context) if not OUR_WORDS & set(map(str, path))]
    page = Directions(render(template, with_text(context, found, MARKER), "ar").source)
    assert page.mixed == []


class Directions(Page):
    """Where the marker stands in the direction of the page."""

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        inside = [(tag, attrs) for tag, attrs in self.open if tag != "html"]
        own = any(tag in {"bdi", "code", "title", "button"} or "dir" in attrs for tag, attrs in inside)
        unseen = any(attrs.get("class") == "unseen" for _, attrs in inside)
        if MARKER in data and not own and not unseen:
            self.mixed.append(data.strip())

    def feed(self, data: str) -> None:
        self.mixed: list[str] = []
        super().feed(data)


def test_t52_script_that_got_into_a_page_would_not_run():
    policy = dict(part.split(" ", 1) for part in CSP.split("; "))
    assert (policy["default-src"], policy["base-uri"]) == ("'none'", "'none'")
    assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
    assert not {"object-src", "frame-src", "script-src-elem", "script-src-attr"} & set(policy)


# The sources


FORBIDDEN = (
    r"\|\s*safe(seq)?\b", r"autoescape", r"<style", r"\sstyle=", r"\son\w+=", r"<script(?! src)", "javascript:"
)  # fmt: skip


def test_t52_no_template_turns_escaping_off() -> None:
    assert len(TEMPLATES) > 100
    for path in TEMPLATES:
        found = {one for one in FORBIDDEN if re.search(one, path.read_text(encoding="utf-8"))}
        # An e-mail has no style sheet, and no policy.
        assert found - ({r"\sstyle="} if path.name == "email.html" else set()) == set(), path


def test_t52_no_filter_marks_its_answer_safe():
    for path in (ROOT / "elicit_flows" / "templatetags").glob("*.py"):
        assert not re.search(r"mark_safe|format_html|is_safe=True|SafeString", path.read_text(encoding="utf-8"))
