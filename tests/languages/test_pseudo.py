"""No English is left on any page or in any message when every text has a translation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elicit_flows.notifications.messages import WORDS
from gallery.mails import MAILS, mail
from gallery.states import PAGES
from scripts.messages import extract
from tests.languages import pseudo
from tests.support.sweeps import sweep
from tests.web.samples import Page, render

# For developers, in English: the API's documentation.
ENGLISH = {"docs"}
# Names, addresses and codes; "UTC" is that everywhere.
NAMES = {"Elicit Flows", "UTC", "JSON", "WDJB-MJHT", "html", "https"}
every_page = pytest.mark.parametrize("name", sweep(sorted(set(PAGES) - ENGLISH), lambda name: PAGES[name][0]))
SPOKEN = ("aria-label", "placeholder", "title", "alt", "data-kept", "data-changed", "data-away", "data-old", "data-no")


@pytest.fixture(scope="module")
def pseudo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locale")
    pseudo.write(folder, extract.pages())
    return folder


@pytest.fixture
def pseudo_language(pseudo_folder: Path) -> Iterator[None]:
    settings, language = pseudo.speaking(pseudo_folder)
    with settings, language:
        yield


def texts_of(page: Page) -> Iterator[str]:
    """What a person reads or hears, without what a page says is English."""
    for tag, text in page.words:
        if tag not in ("script", "style", "code"):
            yield text
    for _, attributes, _ in page.tags:
        yield from (str(attributes[name]) for name in SPOKEN if attributes.get(name))


@pytest.mark.usefixtures("pseudo_language")
@every_page
def test_no_english_is_left_on_a_page(name: str) -> None:
    template, _, context = PAGES[name]
    given = context()
    page = render(template, given, pseudo.LANGUAGE)
    data = {*pseudo.data_of(given), *NAMES}
    left = {text.strip(): words for text in texts_of(page) if (words := pseudo.english_in(text, data))}
    assert not left
    assert "[¡" in page.text()


# What a message says, for each channel: e-mail in two parts, chats (subject and message.txt), web push (subject).
SAID = {*WORDS, "email.html", "email.txt", "message.txt"}


@pytest.mark.usefixtures("pseudo_language")
@pytest.mark.parametrize("name", sorted(MAILS))
def test_no_english_is_left_in_a_message(name: str) -> None:
    parts = mail(name)
    assert parts["language"] == pseudo.LANGUAGE
    data = {parts[one] for one in ("agent", "brand", "url", "unsubscribe_url")} | NAMES
    for part in SAID:
        texts = list(texts_of(Page(parts[part])))
        assert any("[¡" in text for text in texts), part
        assert [words for text in texts if (words := pseudo.english_in(text, data))] == [], part
