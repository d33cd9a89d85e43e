"""What is ordered at a control page, and what cannot be."""

from __future__ import annotations

from typing import Any


class Unfit(Exception):
    """The order makes no sense; the sentence says why."""


class Values(dict[str, Any]):
    """What an act is given; asking for what was not given is Unfit."""

    def __missing__(self, name: str) -> Any:
        raise Unfit(f"{name} is missing")

    def whole(self, name: str) -> int:
        if not isinstance(self[name], int):
            raise Unfit(f"{name} has to be a whole number")
        return int(self[name])


def one_of(values: dict[str, Any], name: str, allowed: tuple[str, ...] | list[str]) -> str:
    said = str(values.get(name, ""))
    if said not in allowed:
        raise Unfit(f"{name} has to be one of {', '.join(allowed)}")
    return said
