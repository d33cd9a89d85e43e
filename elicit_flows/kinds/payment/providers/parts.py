"""The parts of providers' objects (plain JSON). What is missing becomes empty; nothing raises."""

from __future__ import annotations

from typing import Any

Thing = dict[str, Any]


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def within(thing: Thing, *names: str) -> Thing:
    """The object at the end of ``names``; {} if one of them is missing or not an object."""
    for name in names:
        found = thing.get(name)
        thing = found if isinstance(found, dict) else {}
    return thing


def several(thing: Thing, name: str) -> list[Thing]:
    """The objects in the list with that name."""
    found = thing.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
