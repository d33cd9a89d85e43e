"""Walks the gallery with axe. Each language has a file of its own: a worker of pytest-xdist gets whole files.

Axe looks at each page once in each language. The four languages share the four pairs of a width and a colour scheme,
so that each page is seen in all of them. EVERY_LOOK=1: each language sees each page in all four.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
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
LOOKS = list(product((PHONE, DESKTOP), ("light", "dark")))
EVERY_LOOK = os.environ.get("EVERY_LOOK") == "1"
LANGUAGES = ("en", "de", "ar", "ja")
PARTS = 4  # of the walk in one language, each well under a minute


def bring_axe(user: User) -> None:
    """Have axe on every page that this person opens. Sending it to each takes longer than a run of it."""
    op.node()
    user.context.add_init_script((op.PEERS / "node_modules" / "axe-core" / "axe.min.js").read_text())


def faults(user: User, look: int) -> Iterator[str]:
    """Of the page that is open. Axe looks at it at one of LOOKS: number ``look``, which begins anew after the last."""
    page = user.page
    wanted = LOOKS if EVERY_LOOK else [LOOKS[look % len(LOOKS)]]
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
        if wrong := list(faults(user, number + LANGUAGES.index(language))):
            found[address] = wrong
    return found
