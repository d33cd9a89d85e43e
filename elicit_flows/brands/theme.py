"""The brand's colours on the pages: which contrasts they need, and the style sheet that is made of them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.contrib.staticfiles import finders

from elicit_flows.lib import colours

RADII = ("0", "0.5rem", "1rem")
DEFAULT_RADIUS = RADII[2]
# Fonts that readers have already, in the order in which they are looked for (docs/adr/0032-fonts.md).
FONTS = {
    "system": "system-ui, sans-serif",
    "humanist": "Seravek, 'Gill Sans Nova', Ubuntu, Calibri, 'DejaVu Sans', sans-serif",
    "geometric": "Avenir, Montserrat, Corbel, 'URW Gothic', sans-serif",
    "rounded": "ui-rounded, 'Hiragino Maru Gothic ProN', Quicksand, Comfortaa, 'Arial Rounded MT', Calibri, sans-serif",
    "serif": "'Iowan Old Style', 'Palatino Linotype', 'URW Palladio L', P052, serif",
}
DEFAULT_FONT = "system"
_NAME = re.compile(r"([0-9a-f]{6})-([0-9a-f]{6})-([0-2])(?:-font([1-4]))?(?:-(light|dark))?")
_IN_THE_DARK = "@media screen and (prefers-color-scheme: dark)"


@dataclass(frozen=True, slots=True)
class Scheme:
    """The colours of style.css that the brand's stands on, and the one to which it is moved for more contrast."""

    name: str
    ground: str
    sheet: str
    quote: str
    away: str


LIGHT = Scheme("light", "#f5f6f4", "#ffffff", "#eef4f1", "#000000")
DARK = Scheme("dark", "#121615", "#1b201f", "#222b28", "#ffffff")
OWN = {LIGHT.name: "#0b6757", DARK.name: "#63cdb5"}  # without a brand


def fault(colour: str, scheme: Scheme) -> str:
    """Why the colour cannot be the brand's in this scheme; "" if it can.

    Links are text in it, buttons have text in the colour of the sheet or the ground on it, quotes have an edge of it.
    """
    for what, ground, needed in _pairs(scheme):
        measured = colours.contrast(colour, ground)
        if measured < needed:
            change = "a darker" if scheme is LIGHT else "a lighter"
            # Rounded down, so that a colour that misses narrowly does not look as if it were enough.
            return (
                f"has a contrast of {int(measured * 100) / 100:.2f}:1 as {what} ({ground}) in the {scheme.name} "
                f"colours, and needs {needed:g}:1; take {change} one, such as {nearest(colour, scheme)}"
            )
    return ""


def nearest(colour: str, scheme: Scheme) -> str:
    """The colour itself if it has enough contrast, else the nearest on its way to black or white that has."""
    steps = (colours.mix(colour, scheme.away, step / 50) for step in range(51))
    pairs = _pairs(scheme)
    return next(one for one in steps if all(colours.contrast(one, ground) >= needed for _, ground, needed in pairs))


def _pairs(scheme: Scheme) -> tuple[tuple[str, str, float], ...]:
    return (
        ("text on the page", scheme.ground, colours.TEXT),
        ("text on a card, or under the text of a button,", scheme.sheet, colours.TEXT),
        ("the edge of a quote", scheme.quote, colours.PARTS),
    )


def sheet_name(brand: str, brand_dark: str, radius: str, font: str = "") -> str:
    """What the address of the style sheet says of its content. "" if nothing differs from ours."""
    if not brand and not brand_dark and radius in ("", DEFAULT_RADIUS) and font in ("", DEFAULT_FONT):
        return ""
    return _named(brand, brand_dark, radius, font)


def forced_name(brand: str, brand_dark: str, radius: str, font: str, scheme: Scheme) -> str:
    """The same in one scheme, whichever the reader's device is in. For a preview."""
    return f"{_named(brand, brand_dark, radius, font)}-{scheme.name}"


def _named(brand: str, brand_dark: str, radius: str, font: str) -> str:
    light = brand or OWN[LIGHT.name]
    dark = brand_dark or (nearest(brand, DARK) if brand else OWN[DARK.name])
    own = list(FONTS).index(font or DEFAULT_FONT)
    shape = f"{RADII.index(radius or DEFAULT_RADIUS)}{f'-font{own}' if own else ''}"
    return f"{light[1:]}-{dark[1:]}-{shape}".lower()


def sheet(name: str) -> bytes | None:
    """The style sheet of the pages with these colours, in both schemes; None if it is no such name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    light, dark, radius = f"#{found[1]}", f"#{found[2]}", RADII[int(found[3])]
    dark_ones = properties(dark, DARK)
    family = list(FONTS.values())[int(found[4] or 0)]
    added = f":root {{ {properties(light, LIGHT)} --radius: {radius}; font-family: {family}; }}\n"
    added += f"{_IN_THE_DARK} {{ :root {{ {dark_ones} }} }}\n"
    whole = _own_sheet() + added
    if found[5]:
        whole = whole.replace(_IN_THE_DARK, "@media screen" if found[5] == DARK.name else "@media not all")
        whole += f":root {{ color-scheme: {found[5]}; }}\n"
    return whole.encode()


def properties(colour: str, scheme: Scheme) -> str:
    """The custom properties of style.css that follow the brand's colour."""
    on = LIGHT.sheet if scheme is LIGHT else DARK.ground
    return f"--lead: {colour}; --lead-deep: {colours.mix(colour, scheme.away, 0.25)}; --on-lead: {on};"


def sheet_digest(name: str) -> str:
    """Changes with the content, so that browsers may keep the sheet for ever."""
    return hashlib.sha256(sheet(name) or b"").hexdigest()[:16]


@cache
def _own_sheet() -> str:
    path = finders.find("elicit/style.css")
    return Path(str(path)).read_text(encoding="utf-8")
