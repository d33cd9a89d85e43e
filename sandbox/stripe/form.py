"""Stripe's form encoding: ``a[b][0][c]=v`` is ``{"a": {"b": [{"c": "v"}]}}``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from sandbox.stripe.errors import StripeError

_NAME = re.compile(r"[^\[\]]+")
_REST = re.compile(r"(\[[^\[\]]*\])*")
_PART = re.compile(r"\[([^\[\]]*)\]")


def decode(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The nested parameters. An impossible name is refused."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        put(found, path(name), value)
    return {name: listed(value) for name, value in found.items()}


def path(name: str) -> list[str]:
    head = _NAME.match(name)
    if head is None or not _REST.fullmatch(name, head.end()):
        raise StripeError(400, f"Invalid parameter name: {name}")
    return [head[0], *_PART.findall(name[head.end() :])]


def put(found: dict[str, Any], names: list[str], value: str) -> None:
    for name in names[:-1]:
        found = found.setdefault(name or str(len(found)), {})
        if not isinstance(found, dict):
            raise StripeError(400, f"Invalid parameters: {name} is both a value and a hash.")
    last = names[-1] or str(len(found))
    if isinstance(found.get(last), dict):
        raise StripeError(400, f"Invalid parameters: {last} is both a value and a hash.")
    found[last] = value


def listed(value: Any) -> Any:
    """Objects whose names are all numbers become arrays, in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inner = {name: listed(one) for name, one in value.items()}
    if inner and all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner
