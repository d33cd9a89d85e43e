"""Strict JSON: text that two parsers could understand differently is refused (RFC 8259; I-JSON, RFC 7493).

All JSON from others is parsed here: agents' requests, providers' answers, tokens, webhooks, passkeys.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

MAX_DEPTH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_LONGEST_INTEGER = 20  # digits and sign: every 64-bit number


class NotStrict(ValueError):
    """JSON that is refused. ``str`` is a sentence for the sender."""


def loads(data: bytes | str, *, max_depth: int = MAX_DEPTH, any_text: bool = False) -> Any:
    """The value. ``any_text``: NUL and half a surrogate pair are allowed; the caller checks the texts that it keeps.

    Raises ValueError if ``data`` is not UTF-8 or not JSON, is nested deeper than ``max_depth``, or contains a name
    twice in one object, NaN, a number that is too large, or a text with NUL or half a surrogate pair.
    """
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > max_depth:
            raise NotStrict(f"It is nested deeper than {max_depth} levels.")
    value = json.loads(
        text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
    )
    if not any_text and "\\u" in text:  # both can only be written as escapes: UTF-8 and JSON refuse them otherwise
        _check_text(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict("A name stands twice in one object.")
    return found


def _no_constant(name: str) -> NoReturn:
    raise NotStrict(f"{name} is not JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotStrict("A number is too large.")
    return number


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise NotStrict("A number is too large.")
    return int(digits)


def _check_text(value: Any) -> None:
    """Refuses NUL (PostgreSQL cannot store it) and half a surrogate pair (UTF-8 cannot encode it)."""
    if isinstance(value, str) and ("\0" in value or _SURROGATE.search(value)):
        raise NotStrict("A text holds a NUL or half a surrogate pair.")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key)
            _check_text(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_text(inner)
