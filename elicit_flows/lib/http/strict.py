"""JSON as a security boundary reads it: one meaning or none (RFC 8259; I-JSON, RFC 7493)."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def loads(data: bytes | str) -> Any:
    """The value, or ValueError: not UTF-8, a duplicate member, NaN or an overflow, a lone surrogate, too deep."""
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError: a lone surrogate
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is named twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number
