"""Colours as ``#rrggbb``, and their contrast as in WCAG 2.2 (relative luminance, success criteria 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re

TEXT, PARTS = 4.5, 3.0  # level AA: what text needs, and what borders and other parts of controls need
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


def is_colour(value: object) -> bool:
    return isinstance(value, str) and _COLOUR.fullmatch(value) is not None


def contrast(one: str, other: str) -> float:
    """From 1 (the same) to 21 (black and white)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def mix(colour: str, other: str, share: float) -> str:
    """``colour`` with a share of ``other``, from 0 to 1."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(own + (added - own) * share):02x}" for own, added in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def _luminance(colour: str) -> float:
    shares = (channel / 255 for channel in _channels(colour))
    red, green, blue = (one / 12.92 if one <= 0.04045 else float(((one + 0.055) / 1.055) ** 2.4) for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
