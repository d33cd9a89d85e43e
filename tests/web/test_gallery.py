"""The gallery: every page in every state and every part of them, for developers, by the service's own templates."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest
from django.http import Http404
from django.test import Client, RequestFactory

from elicit_flows.notifications import messages
from gallery import mails, views
from gallery.components import COMPONENTS
from gallery.states import PAGES
from scripts import screenshots
from tests.support.box import Box
from tests.support.browser import User
from tests.support.process import PROJECT, clean_env
from tests.support.sweeps import sweep
from tests.web.gallery_axe import LOOKS, PHONE, WIDTH, bring_axe, faults
from tests.web.samples import Page

TEMPLATES = PROJECT / "templates"
TEMPLATE_OF = {views.slug(name): template for name, (template, _, _) in PAGES.items()}
# On every page, or shown as a page: an outcome has the page's heading.
SEEN_ON_PAGES = {
    "brand/_name.html", "brand/_links.html", "brand/_small.html", "account/_room.html", "connect/_outcome.html",
    "connect/_answered.html", "connect/_go.html", "connect/_variables.html",
    "brand/_picture.html", "account/_limits.html", "account/_push.html", "_order.html", "_order_facts.html",
    "_invoice.html", "account/_replace.html",
}  # fmt: skip


def shown(address: str, query: str = "") -> Page:
    return Page(views.show(RequestFactory().get(f"/_gallery/{address}{query}"), address).content.decode())


def ours() -> Iterator[tuple[str, str]]:
    """The name and the source of each template of people's pages."""
    for path in TEMPLATES.rglob("*.html"):
        name = path.relative_to(TEMPLATES).as_posix()
        if not name.startswith(("admin/", "api/_", "connect/kinds/")):
            yield name, path.read_text(encoding="utf-8")


# What it shows


@pytest.mark.parametrize("address", sweep(views.addresses(), lambda address: TEMPLATE_OF.get(address, address)))
def test_every_page_and_part_is_rendered(address: str) -> None:
    page = shown(address)
    assert not page.open
    assert len(page.all("h1")) == 1
    assert len(page.all("body")) == 1


def test_every_template_of_a_page_has_a_state_and_every_part_is_shown() -> None:
    pages = {name for name, source in ours() if source.startswith("{% extends") and not Path(name).name.startswith("_")}
    assert pages
    assert pages <= {template for template, _, _ in PAGES.values()}
    parts = {name for name, _ in ours() if Path(name).name.startswith("_")}
    assert parts == {template for template, _ in COMPONENTS.values()} | SEEN_ON_PAGES


def test_a_part_says_more_than_its_name() -> None:
    for name in COMPONENTS:
        [main] = re.findall(r"</h1>(.*)</main>", shown(f"part-{views.slug(name)}").source, re.DOTALL)
        assert re.sub(r"<[^>]+>", "", main).strip(), name


def test_every_e_mail_is_shown_in_both_of_its_parts() -> None:
    """MAILS has each thing that a message may be about, as `compose` tells them apart."""
    assert {about for about, _ in mails.MAILS.values()} == set(messages.ABOUT)
    for name, (_, url) in mails.MAILS.items():
        html, text = shown(name, "?lang=de&brand=violet"), shown(f"{name}{mails.TEXT}", "?lang=de&brand=violet")
        assert html.all("a")[0]["href"] == url
        for page in (html, text):
            assert "Travel Bot" in page.text()
            assert "Violet" in page.text()
        assert html.all("html") == [{"lang": "de", "dir": "ltr"}]
        assert url in text.text()


def test_an_e_mail_is_dark_where_the_mail_program_is() -> None:
    """It has no style sheet that could tell, so it colours text only where it colours the ground as well."""
    for name in mails.MAILS:
        page = shown(name)
        assert [one["content"] for one in page.all("meta") if one.get("name") == "color-scheme"] == ["light dark"]
        styles = [str(attributes["style"]) for _, attributes, _ in page.tags if "style" in attributes]
        coloured = [style for style in styles if re.search(r"(?<![\w-])color:(?!inherit)", style)]
        assert ["background:" in style for style in coloured] == [True]  # the button
        assert not [style for style in styles if "background:" in style and style not in coloured]


def test_the_index_leads_to_each_of_them_and_keeps_what_was_chosen() -> None:
    page = Page(views.index(RequestFactory().get("/_gallery?lang=ar&brand=violet")).content.decode())
    links = [str(one["href"]) for one in page.all("a")]
    addresses = views.addresses()
    assert len(addresses) == len(set(addresses))
    assert [one for one in links if "/_gallery/" in one] == [
        f"/_gallery/{one}?lang=ar&brand=violet" for one in addresses
    ]


def test_the_language_and_the_brand_are_chosen_in_the_address() -> None:
    assert shown("consent", "?lang=ar").all("html") == [{"lang": "ar", "dir": "rtl"}]
    assert shown("consent").all("html") == [{"lang": "en", "dir": "ltr"}]
    assert shown("consent", "?lang=none").all("html") == [{"lang": "en", "dir": "ltr"}]
    violet = shown("consent", "?brand=violet")
    assert "Violet Works GmbH" in violet.text()
    assert "/brand/style/" in violet.source
    assert "Violet" not in shown("consent", "?brand=none").source


def test_an_address_of_nothing_is_not_found() -> None:
    with pytest.raises(Http404):
        shown("nothing")


# Where it is


@pytest.mark.django_db
def test_without_development_settings_there_is_none(client: Client) -> None:
    assert client.get("/_gallery").status_code == 404
    assert client.get("/_gallery/consent").status_code == 404


@pytest.mark.slow
def test_debug_alone_brings_it(tmp_path: Path) -> None:
    """The box of the other tests has it by ELICIT_ALLOW_LOOPBACK, as `make run` does."""
    program = (
        "import django; django.setup(); from django.urls import resolve; print(resolve('/_gallery').func.__module__)"
    )
    env = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"sqlite:///{tmp_path}/x.sqlite3",
        "SECRET_KEY": "s" * 60,
        "ELICIT_VAULT_KEYS": "k1:" + "A" * 43 + "=",
        "ELICIT_DEBUG": "1",
    }
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=PROJECT, env=clean_env() | env, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "gallery.views"


def test_the_image_has_none() -> None:
    """.dockerignore leaves out all but what it names."""
    named = (PROJECT / ".dockerignore").read_text().splitlines()
    assert "*" in named
    assert not [line for line in named if "gallery" in line]


def test_every_picture_of_the_docs_is_of_a_page_that_is_there() -> None:
    assert set(screenshots.PICTURES.values()) <= set(views.addresses())
    assert {one.name for one in screenshots.FOLDER.iterdir()} == set(screenshots.PICTURES)


# In a browser. The templates are the same in both shapes of the service, so one of them is enough.

ZOOMED = 320  # what a window of 1,280 pixels shows at 400 %


@pytest.mark.slow
@pytest.mark.limit(300)
@pytest.mark.parametrize("languages", [["de"], ["en", "ar", "ja"]], ids="-".join)
def test_no_page_is_wider_than_a_window_at_400_percent(
    embedded_box: Box, new_user: Callable[..., User], languages: list[str]
) -> None:
    """Each page in German, which has the longest words, and in one of the others."""
    user = new_user(viewport={"width": ZOOMED, "height": 256})
    wide = {}
    for address, language in zip(views.addresses(), cycle(languages), strict=False):
        user.open(f"{embedded_box.url}/_gallery/{address}?lang={language}&brand=violet")
        if (width := user.page.evaluate(WIDTH)) > ZOOMED:
            wide[address, language] = width
    assert not wide


def test_no_style_sheet_hides_something_by_the_width_of_the_window() -> None:
    """Otherwise each rule of axe would have to be run at each width."""
    static = PROJECT / "elicit_flows" / "static" / "elicit"
    for name in ("style.css", "account.css"):
        for rules in re.findall(r"@media \(m(?:in|ax)-[^{]*\{((?:[^{}]*\{[^}]*\})*)", (static / name).read_text()):
            assert not re.search(r"display: none|visibility|content-visibility|clip-path|opacity", rules), rules


# With a border, or at least a line under it, what can be pressed is told from text that cannot.
UNMARKED = """() => [...document.querySelectorAll('main button, main a.button')].filter(one => {
  const style = getComputedStyle(one);
  return one.checkVisibility() && style.borderStyle === 'none' && !style.textDecorationLine.includes('underline');
}).map(one => one.textContent)"""


@pytest.mark.slow
@pytest.mark.limit(300)
def test_what_is_pressed_is_told_from_text_in_forced_colours(embedded_box: Box, new_user: Callable[..., User]) -> None:
    user = new_user(viewport={"width": PHONE, "height": 900}, forced_colors="active")
    found = {}
    for address in views.addresses():
        user.open(f"{embedded_box.url}/_gallery/{address}")
        if plain := user.page.evaluate(UNMARKED):
            found[address] = plain
    assert not found


@pytest.mark.slow
def test_a_page_with_faults_is_noticed(embedded_box: Box, user: User) -> None:
    bring_axe(user)
    user.open(f"{embedded_box.url}/_gallery/consent")
    assert [fault for look in LOOKS for fault in faults(user, [look])] == []
    user.page.evaluate(
        "const one = document.querySelector('main').appendChild(document.createElement('button'));"
        "Object.assign(one.style, {border: 'none', width: '1500px', background: '#777'});"
        "const words = document.querySelector('main').appendChild(document.createElement('p'));"
        "words.textContent = 'Words'; Object.assign(words.style, {background: '#777', color: '#888'})"
    )
    for look in LOOKS:
        said = " ".join(faults(user, [look]))
        for what in ("Buttons must have discernible text", "color-contrast", "is wider than 375", "is wider than 1440"):
            assert what in said, (look, what)
    assert user.page.evaluate(UNMARKED) == [""]


# The lines between the accounts of one provider. One without a name has no heading that could carry it.
LINES = """() => [...document.querySelectorAll('.provider')].map(one => [...one.querySelectorAll('.rows')].slice(1)
  .map(rows => [rows.previousElementSibling.matches('h3') ? rows.previousElementSibling : rows])
  .map(([first]) => getComputedStyle(first).borderBlockStartWidth))"""


def test_a_line_stands_before_each_account_but_the_first(embedded_box: Box, user: User) -> None:
    user.open(f"{embedded_box.url}/_gallery/account")
    assert user.page.evaluate(LINES) == [["1px"], []]


# Words that take more than one line, although each is shorter than the window.
BROKEN = r"""() => [...document.querySelectorAll('dt, .go button')].flatMap(one => {
  const found = [], texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/\S+/g)) {
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map(line => line.top)).size > 1) found.push(word[0]);
  }
  return found;
})"""


@pytest.mark.parametrize("address", ["save", "consent-for-an-mcp-server", "payment-an-order", "x402", "mandates"])
def test_no_label_and_no_host_in_a_button_is_broken_inside_a_word(
    embedded_box: Box, new_user: Callable[..., User], address: str
) -> None:
    user = new_user(viewport={"width": PHONE, "height": 900})
    user.open(f"{embedded_box.url}/_gallery/{address}?lang=de")
    assert user.page.evaluate(BROKEN) == []


def test_a_host_that_is_too_long_for_its_button_is_broken_inside_of_it(
    embedded_box: Box, new_user: Callable[..., User]
) -> None:
    user = new_user(viewport={"width": PHONE, "height": 900})
    user.open(f"{embedded_box.url}/_gallery/save")
    button = user.page.locator(".go button")
    button.evaluate("one => { one.textContent = 'Continue to averylongnameofahostofsomebodywithoutanysign.example' }")
    assert button.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert user.page.evaluate(WIDTH) == PHONE


SENT = """() => new Promise(done => {
  document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
  document.querySelector('[data-action=signout]').requestSubmit();
})"""


def test_no_form_of_it_is_sent(embedded_box: Box, user: User) -> None:
    user.open(f"{embedded_box.url}/_gallery/security")
    assert user.page.evaluate(SENT) == "form-action"
    assert user.url == f"{embedded_box.url}/_gallery/security"


# The words of buttons, terms and facts that stand on more than one line, though they fit on one.
SPLIT = r"""() => [...document.querySelectorAll('button, dt, dd')].flatMap(one => {
  const found = [], texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/(?<![.\w])[^\s.\/-]{2,13}/g)) {
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map(line => line.top)).size > 1) found.push(word[0]);
  }
  return found;
})"""
OVER = """() => [...document.querySelectorAll('.field > *')]
  .filter(one => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1)
  .map(one => one.outerHTML)"""


@pytest.mark.slow
@pytest.mark.parametrize(("size", "width"), [(16, ZOOMED), (32, PHONE)])
def test_no_word_is_broken_on_a_narrow_phone_or_in_letters_twice_as_large(
    embedded_box: Box, new_user: Callable[..., User], size: int, width: int
) -> None:
    user = new_user(viewport={"width": width, "height": 640})
    user.context.new_cdp_session(user.page).send("Page.setFontSizes", {"fontSizes": {"standard": size}})
    found = {}
    for address in ("payment", "consent", "form-refused", "subscribe-a-trial", "which-account-of-several"):
        user.open(f"{embedded_box.url}/_gallery/{address}?lang=de")
        assert user.page.evaluate("getComputedStyle(document.documentElement).fontSize") == f"{size}px"
        found[address] = user.page.evaluate(SPLIT) + user.page.evaluate(OVER)
    assert not any(found.values()), found


@pytest.mark.parametrize(("address", "label"), [("form-refused", "Notes"), ("credentials-refused", "API key")])
def test_who_goes_to_what_is_wrong_sees_what_the_field_is_and_why(
    embedded_box: Box, new_user: Callable[..., User], address: str, label: str
) -> None:
    user = new_user(viewport={"width": PHONE, "height": 500})
    user.open(f"{embedded_box.url}/_gallery/{address}?lang=en")
    user.page.get_by_role("alert").get_by_role("link", name=label).click()
    field = user.page.locator(":focus")
    above = [field.locator("xpath=../label"), field.locator("xpath=../*[@class='fault']")]
    boxes = [one.bounding_box() for one in (*above, field)]
    assert all(box and 0 <= box["y"] <= 500 - box["height"] for box in boxes), boxes


def test_a_code_is_typed_from_left_to_right_in_arabic_too() -> None:
    fields = [one for address in ("code", "consent-with-a-field") for one in shown(address, "?lang=ar").all("input")]
    assert {one.get("dir") for one in fields if one.get("type", "text") == "text"} == {"ltr"}


def test_korean_is_broken_between_its_words(embedded_box: Box, new_user: Callable[..., User]) -> None:
    user = new_user(viewport={"width": PHONE, "height": 640})
    for address in ("consent", "mandate-announced"):
        user.open(f"{embedded_box.url}/_gallery/{address}?lang=ko")
        assert user.page.evaluate(SPLIT.replace("'button, dt, dd'", "'h1, p, button, dt, dd'")) == []


# What stands between quotation marks, where it takes more than one line.
QUOTED = SPLIT.replace("'button, dt, dd'", "'h1'").replace(r"/(?<![.\w])[^\s.\/-]{2,13}/g", "/「[^」]*」/g")


def test_a_word_that_japanese_quotes_in_a_title_stays_whole(embedded_box: Box, new_user: Callable[..., User]) -> None:
    user = new_user(viewport={"width": PHONE, "height": 640})
    quoted = []
    for address in ("answered-before", "done-said-no"):
        user.open(f"{embedded_box.url}/_gallery/{address}?lang=ja")
        quoted += re.findall("「", user.page.inner_text("h1"))
        for width in (ZOOMED, PHONE, 1440):
            user.page.set_viewport_size({"width": width, "height": 640})
            assert user.page.evaluate(QUOTED) == [], (address, width)
    assert len(quoted) == 2
