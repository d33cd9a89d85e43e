"""Sentences of ours that the API says in English and a page says in its reader's language.

A ``Sentence`` is an English ``str``, and knows the text that a catalogue has for it. Whatever shows it to a person
hands it to ``spoken`` with the gettext functions of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

One = Callable[[str], str]
Several = Callable[[str, str, int], str]


class Sentence(str):
    """English text with what the catalogues have of it: ``template``, and ``plural`` for a ``number`` of things."""

    template: str
    plural: str | None
    number: int
    values: dict[str, Any]

    def __str__(self) -> str:
        return self  # so that an exception that was raised with one returns it whole


def sentence(template: str, /, **values: object) -> Sentence:
    """A sentence with named values: ``sentence("Type %(word)s to confirm.", word=word)``."""
    return _made(template, None, 1, values)


def sentences(one: str, several: str, count: int, /, **values: object) -> Sentence:
    """The same for a number of things: ``%(count)s`` is that number."""
    return _made(one, several, count, {"count": count, **values})


def _made(template: str, plural: str | None, count: int, values: dict[str, Any]) -> Sentence:
    text = template if plural is None or count == 1 else plural
    made = Sentence(text % values if values else text)
    made.template, made.plural, made.number, made.values = template, plural, count, values
    return made


def spoken(text: str, gettext: One, ngettext: Several) -> str:
    """``text`` in the language of ``gettext``. Plain text is looked up as it is; "" stays empty."""
    if not isinstance(text, Sentence):
        return gettext(text) if text else ""
    values = {name: spoken(value, gettext, ngettext) if isinstance(value, Sentence) else value
              for name, value in text.values.items()}  # fmt: skip
    found = gettext(text.template) if text.plural is None else ngettext(text.template, text.plural, text.number)
    return found % values if values else found


def field_text(text: str) -> str:
    """Mark a label or help of a field for translation, with the context "field"."""
    return text


def scope_words(words: str) -> str:
    """Mark what a scope allows for translation, with the context "scope"."""
    return words
