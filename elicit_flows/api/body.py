"""Reading a JSON body strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import json
import math
import re

from django.http import HttpRequest
from ninja.parser import Parser
from ninja.types import DictStrAny

from elicit_flows.errors import BadRequest, TooLarge, UnsupportedMedia

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


class StrictParser(Parser):
    """For ninja."""

    def parse_body(self, request: HttpRequest) -> DictStrAny:
        check_type(request)
        return parse(request.body)


def check_type(request: HttpRequest) -> None:
    kind, _, parameters = (request.content_type or "").partition(";")
    charset = (request.content_params or {}).get("charset", "utf-8").lower()
    if kind.strip().lower() != "application/json" or charset not in {"utf-8", "utf8"} or parameters:
        raise UnsupportedMedia
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMedia("Send the body without compression.")


def parse(raw: bytes) -> DictStrAny:
    """The object. Raises TooLarge or BadRequest with the reason."""
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"A body may have {MAX_BYTES} bytes.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest("The body is not UTF-8.") from error
    _check_depth(text)
    try:
        body = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    _check_text(body)
    return body


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            raise BadRequest(f"The body is nested deeper than {MAX_DEPTH} levels.")


def _no_duplicates(pairs: list[tuple[str, object]]) -> DictStrAny:
    body = dict(pairs)
    if len(body) != len(pairs):
        raise BadRequest("A name stands twice in one object.")
    return body


def _no_constant(name: str) -> float:
    raise BadRequest(f"{name} is not JSON.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRequest("A number is too large.")
    return value


def _whole(text: str) -> int:
    if len(text) > 20:
        raise BadRequest("A number is too large.")
    return int(text)


def _check_text(value: object) -> None:
    """No NUL (PostgreSQL cannot store it) and no half of a surrogate pair (UTF-8 cannot carry it)."""
    if isinstance(value, str) and ("\0" in value or _SURROGATE.search(value)):
        raise BadRequest("A text holds a NUL or half a surrogate pair.")
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key)
            _check_text(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_text(inner)
