"""The parts of providers' objects (plain JSON). What is missing becomes empty; nothing raises."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from elicit_flows.lib import clock

Thing = dict[str, Any]


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def moment(thing: Thing, name: str) -> datetime | None:
    """The time with that name, as RFC 3339 says it with an offset."""
    try:
        found = datetime.fromisoformat(text(thing.get(name)))
        return clock.in_utc(found) if found.tzinfo else None
    except ValueError:
        return None


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
