"""Orders at a control page, and their validation."""

from __future__ import annotations

from typing import Any


class Unfit(Exception):
    """The order is not valid; the sentence says why."""


class Values(dict[str, Any]):
    """The values of an order. Reading one that was not given raises Unfit."""

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
