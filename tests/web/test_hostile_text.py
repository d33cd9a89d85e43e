"""Hostile text in every place of a page that somebody else fills: no markup comes of it (T52), nothing hides (T53)."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.web.middleware import CSP
from tests.web.samples import BARE, PAGES, ROOT, Context, account_page, render, shown

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
HOSTILE_TEXTS = ["".join(PAYLOADS), "javascript:alert(1)"]
URL_FIELDS = {"url", "return_url", "connect_url", "back_url", "receipt_url", "find_url", "source_url"}
OURS = {
    "csrf_token", "status", "method", "where", "type", "anchor", "tag", "press", "mode", "dispute", "currency",
    "outcome_templates", "kind_template", "control", "sort", "zone", "zones", "zone_name", "own", "own_name", "yes",
    "no", "inputmode", "autocomplete", "low", "high",
}  # fmt: skip


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where in a context a string stands that is not our own word."""
    if isinstance(value, dict):
        return [p for key, inner in value.items() if key not in OURS for p in places(inner, (*path, key))]
    if isinstance(value, list):
        return [p for index, inner in enumerate(value) for p in places(inner, (*path, index))]
    return [path] if isinstance(value, str) and value else []


def with_text(context: Context, path: tuple[str | int, ...], value: str) -> Context:
    changed = deepcopy(context)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


HOSTILE = [(name, path) for name, (_, _, context) in PAGES.items() for path in places(context())]


@pytest.mark.parametrize(
    ("name", "path"), HOSTILE, ids=lambda part: part if isinstance(part, str) else ".".join(map(str, part))
)
def test_t52_no_text_of_others_becomes_markup(name: str, path: tuple[str | int, ...]):
    template, _, make = PAGES[name]
    context = make()
    plain = render(template, with_text(context, path, "plain")).skeleton()
    for text in HOSTILE_TEXTS:
        page = render(template, with_text(context, path, text))
        assert page.skeleton() == plain, text
        assert not [link for link in page.all("a") if "javascript:" in str(link["href"])], text


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "/\\evil.example", "java\tscript:x"]
)
def test_t52_an_address_that_is_not_of_the_web_is_no_link(url: str):
    done, refused = shown("done, completed", return_url=url), shown("refused", back_url=url)
    waiting = [{**account_page()["waiting"][0], "url": url}]
    paid = shown("account", payments=[{**account_page()["payments"][0], "receipt_url": url}])
    for page in (done, refused, paid, shown("account", waiting=waiting), shown("done, pending", connect_url=url)):
        assert url not in [link["href"] for link in page.all("a")]


HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff\u2060\x00-\x09\x0b-\x1f]")


@pytest.mark.parametrize(
    "name", [name for name in PAGES if PAGES[name][1] not in {"docs", "home"} and name not in BARE]
)
def test_t53_nothing_invisible_reaches_a_page(name: str):
    template, _, make = PAGES[name]
    context = make()
    # What goes into an address or is ours is checked where it is made.
    ours = URL_FIELDS | {
        "next",
        "continue_url",
        "submit_url",
        "decline_url",
        "choose_url",
        "switch_url",
        "login_url",
        "draft_url",
        "asked",
        "service_name",
        "id",
        "host",
        "slug",
        "name",
        # What is in a control goes back as it is: of the agent's, ``clean`` and ``describe`` let nothing invisible in.
        "value",
    }
    for path in places(context):
        if path[-1] not in ours and not {"host_warning", "typed"} & set(path):  # what people typed stays as it is
            page = render(template, with_text(context, path, "a\u202eb\u200bc\ufeff\u2066d\u200d\x00e"))
            assert not HIDDEN.search(page.source.replace("\r", "")), path


def test_t52_script_that_got_into_a_page_would_not_run():
    policy = dict(part.split(" ", 1) for part in CSP.split("; "))
    assert (policy["default-src"], policy["base-uri"]) == ("'none'", "'none'")
    assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
    assert not {"object-src", "frame-src", "script-src-elem", "script-src-attr"} & set(policy)


# The sources


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_t52_no_template_turns_escaping_off(path: Path):
    source = path.read_text(encoding="utf-8")
    for forbidden in (
        r"\|\s*safe(seq)?\b",
        r"autoescape",
        r"<style",
        r"\sstyle=",
        r"\son\w+=",
        r"<script(?! src)",
        "javascript:",
    ):
        assert not re.search(forbidden, source), forbidden


def test_t52_no_filter_marks_its_answer_safe():
    for path in (ROOT / "elicit_flows" / "templatetags").glob("*.py"):
        assert not re.search(r"mark_safe|format_html|is_safe=True|SafeString", path.read_text(encoding="utf-8"))
