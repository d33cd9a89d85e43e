"""Walks the gallery with axe. Each language has a file of its own: a worker of pytest-xdist gets whole files.

Axe looks at each page in two of the four languages: in one on a phone and in the other on a desktop, in one light and
in the other dark. The next pages have the other languages and the other pairs. EVERY_LOOK=1: axe looks at each page in
each language, at all four pairs of a width and a colour scheme.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product

from gallery import views
from tests.support import op
from tests.support.browser import User

# Only violations, because the lists of what is in order take half of the time; without reading style sheets again,
# which only rules about media and orientation need, and our pages have neither.
RUN = """async (rules) => {
  const found = await axe.run(document, {
    resultTypes: ['violations'], preload: false, ...(rules ? {runOnly: {type: 'rule', values: rules}} : {}),
  });
  return found.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html).join(' ')}`);
}"""
WIDTH = "document.documentElement.scrollWidth"
PHONE, DESKTOP = 375, 1440
Look = tuple[int, str]
LOOKS: list[Look] = list(product((PHONE, DESKTOP), ("light", "dark")))
EVERY_LOOK = os.environ.get("EVERY_LOOK") == "1"
LANGUAGES = ("en", "de", "ar", "ja")
PARTS = 4  # of the walk in one language, each well under a minute


def bring_axe(user: User) -> None:
    """Have axe on every page that this person opens. Sending it to each takes longer than a run of it."""
    op.node()
    user.context.add_init_script((op.PEERS / "node_modules" / "axe-core" / "axe.min.js").read_text())


def looks(page: int, language: int) -> list[Look]:
    """At which of LOOKS axe looks at a page in a language, both by their numbers."""
    if EVERY_LOOK:
        return LOOKS
    first = page // 2 % 4
    return [LOOKS[first if language < 2 else 3 - first]] if (page + language) % 2 == 0 else []


def faults(user: User, wanted: Sequence[Look]) -> Iterator[str]:
    """Of the page that is open. Axe looks at it at the ``wanted`` looks."""
    page = user.page
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate(WIDTH) > width:
            yield f"is wider than {width}"
        for scheme in [scheme for at, scheme in wanted if at == width]:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            yield from page.evaluate(RUN, None)


def walk(user: User, gallery: str, language: str, part: int) -> dict[str, list[str]]:
    """What is wrong on one of the parts of the gallery, by address."""
    bring_axe(user)
    found = {}
    pages = list(enumerate(["", *(f"/{one}" for one in views.addresses())]))
    for number, address in pages[part::PARTS]:
        user.page.goto(f"{gallery}{address}?lang={language}", wait_until="domcontentloaded")
        assert user.page.get_attribute("html", "lang") == (language if address else "en")
        if wrong := list(faults(user, looks(number, LANGUAGES.index(language)))):
            found[address] = wrong
    return found
