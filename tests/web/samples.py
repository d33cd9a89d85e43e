"""A parser for a rendered page, and the pages of the gallery, rendered."""

from __future__ import annotations

import functools
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from django.template.loader import get_template
from django.utils import translation

from gallery.everywhere import Context
from gallery.states import PAGES
from tests.support.sweeps import sweep

# Every state of every page; in `make test` the first of each template.
STATES = sweep(PAGES, lambda name: PAGES[name][0])
ROOT = Path(__file__).resolve().parents[2]
VOID = {"meta", "link", "input", "br", "circle", "path", "img", "source"}


class Page(HTMLParser):
    """A page as a list of (tag, attributes), with its text and, per tag, what it contains."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source, self.tags, self.words, self.open = source, [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        parents = tuple(name for name, _ in self.open)
        self.tags.append((tag, dict(attrs), parents))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs), tuple(name for name, _ in self.open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1][0] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.tags if name == tag]

    def forms(self) -> list[dict[str, str | None]]:
        """All but the switch of the language, which every page has."""
        return [one for one in self.all("form") if one.get("class") != "language"]

    def buttons(self) -> list[dict[str, str | None]]:
        """All but that of the switch, which is the last one on every page."""
        return self.all("button")[:-1]

    def text(self) -> str:
        return " ".join(" ".join(data for _, data in self.words).split())

    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(attributes)) for tag, attributes, _ in self.tags]


def render(name: str, context: Context, language: str = "en") -> Page:
    with translation.override(language):
        return Page(get_template(name).render(deepcopy(context)))


def shown(name: str, **more: Any) -> Page:
    if not more:
        return _as_in_the_gallery(name)
    template, _, context = PAGES[name]
    return render(template, {**context(), **more})


@functools.cache
def _as_in_the_gallery(name: str) -> Page:
    """A dozen tests look at each page, and change nothing."""
    template, _, context = PAGES[name]
    return render(template, context())
