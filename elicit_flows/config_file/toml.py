"""Writes values as TOML 1.0, on one line. Python's standard library only reads TOML."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def inline(value: Any) -> str:
    """A string, number, boolean, list or dict as TOML. TOML has no null, so members of a dict that are None are left
    out.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # TOML has the same escapes as JSON, except that DEL must be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, dict):
        pairs = [
            f"{(name if _BARE.fullmatch(name) else inline(name))} = {inline(inner)}"
            for name, inner in value.items()
            if inner is not None
        ]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    raise TypeError(f"{type(value).__name__} cannot be written as TOML")
