"""Walks the gallery with axe. Each language has a file of its own: a worker of pytest-xdist gets whole files."""

from __future__ import annotations

from collections.abc import Iterator

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
PARTS = 4  # of the walk in one language, each well under a minute
COLOURS = ["color-contrast"]  # nothing else depends on the colours
# Nothing else depends on the width, as long as no style sheet hides something by it, which test_gallery.py makes sure.
LAYOUT = [*COLOURS, "scrollable-region-focusable"]


def bring_axe(user: User) -> None:
    """Have axe on every page that this person opens. Sending it to each takes longer than a run of it."""
    op.node()
    user.context.add_init_script((op.PEERS / "node_modules" / "axe-core" / "axe.min.js").read_text())


def faults(user: User, *, thorough: bool = True) -> Iterator[str]:
    """Of the page that is open, in both colours and at both widths. Where the same page is looked at ``thorough`` in
    another language: what words can change.
    """
    page = user.page
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate(WIDTH) > width:
            yield f"is wider than {width}"
        for scheme in ("light", "dark") if thorough else ():
            page.emulate_media(color_scheme=scheme)
            whole = (width, scheme) == (PHONE, "light")
            yield from page.evaluate(RUN, None if whole else LAYOUT if scheme == "light" else COLOURS)
        if width == PHONE and not thorough:
            yield from page.evaluate(RUN, None)


def walk(user: User, gallery: str, language: str, part: int) -> dict[str, list[str]]:
    """What is wrong on one of the parts of the gallery, by address."""
    bring_axe(user)
    found = {}
    for address in ["", *(f"/{one}" for one in views.addresses())][part::PARTS]:
        user.page.goto(f"{gallery}{address}?lang={language}", wait_until="domcontentloaded")
        assert user.page.get_attribute("html", "lang") == (language if address else "en")
        if wrong := list(faults(user)):
            found[address] = wrong
    return found
