"""Words from the other side, before they are kept or shown to anybody."""

from __future__ import annotations

from elicit_flows.lib import text


def visible(said: object, limit: int) -> str:
    """``said`` on one line, at most ``limit`` characters, nothing in it that cannot be seen; "" if it is no string.

    Not escaped: that is the page's part.
    """
    if not isinstance(said, str):
        return ""
    words = " ".join(text.visible(said[: 20 * limit]).split())
    return words if len(words) <= limit else f"{words[: limit - 1].rstrip()}…"
