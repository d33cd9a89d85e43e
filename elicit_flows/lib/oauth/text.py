"""Words from the other side, before they are shown to anybody."""

from __future__ import annotations

import unicodedata


def visible(text: object, limit: int) -> str:
    """``text`` on one line, at most ``limit`` characters, without control, bidi, invisible or private-use characters.

    Not escaped: that is the page's part. "" for anything that is not a string.
    """
    if not isinstance(text, str):
        return ""
    kept = "".join(" " if mark.isspace() else mark for mark in text[: 20 * limit] if mark.isspace() or _shows(mark))
    words = " ".join(kept.split())
    return words if len(words) <= limit else f"{words[: limit - 1].rstrip()}…"


def _shows(mark: str) -> bool:
    return not unicodedata.category(mark).startswith("C")
