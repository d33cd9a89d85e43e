"""Helpers for the parameters of all kinds: unknown names are refused, and a fault says where it is."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.lib import text

Fault = dict[str, object]


def fault(loc: str | list[Any], message: str) -> Fault:
    """A mistake at ``params.loc``."""
    return {"loc": ["params", *([loc] if isinstance(loc, str) else loc)], "message": message}


def unknown(params: Json, names: tuple[str, ...]) -> list[Fault]:
    return [fault(name, f"There is no such parameter; use {', '.join(names)}.") for name in params if name not in names]


def is_line(value: Any, most: int) -> bool:
    """Whether it is 1 to ``most`` visible characters on one line."""
    return isinstance(value, str) and 0 < len(value) <= most and value == " ".join(text.visible(value).split())


def is_text(value: Any, most: int) -> bool:
    """Whether it has at most ``most`` characters, at least one of them visible."""
    return isinstance(value, str) and len(value) <= most and text.visible(value) != ""
