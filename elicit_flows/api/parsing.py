"""Reads requests strictly: query parameters, JSON bodies, and ``Idempotency-Key``.

A mistyped filter that is ignored would show other people's rows, and a body that two parsers could read differently
would be understood differently by two programs. So both are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja.parser import Parser
from ninja.types import DictStrAny
from pydantic import BeforeValidator

from elicit_flows.domain.errors import BadRequest, Invalid, TooLarge, UnsupportedMedia
from elicit_flows.http import strict_json

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_ERRORS = 20
MAX_NAME = 100  # characters of a name that an error repeats

View = Callable[..., HttpResponse]
# For an optional body: an empty object counts as none.
NothingSaid = BeforeValidator(lambda body: None if body == {} else body)


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """The ``Idempotency-Key``, None if there is none. Raises BadRequest."""
    given = headers.get("Idempotency-Key")
    key = None if given is None else given.strip(" \t")  # RFC 9110, 5.5; the server keeps trailing white space
    if key is not None and not (0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters.")
    return key


def check_query(given: Mapping[str, list[str]], known: Collection[str]) -> None:
    """Raise Invalid with every name that is not in ``known``, or that is given more than once."""
    advice = f"use {', '.join(known)}" if known else "this call takes none"
    errors: list[dict[str, object]] = []
    for name, values in given.items():
        said = name[:MAX_NAME]
        if name not in known:
            errors.append({"loc": ["query", said], "message": f"There is no parameter {said!r} here; {advice}."})
        elif len(values) > 1:
            errors.append({"loc": ["query", said], "message": "Give this only once."})
    if errors:
        raise Invalid(errors[:MAX_ERRORS])


def known_to(view: View) -> tuple[str, ...]:
    """The query parameters that ninja reads for a view."""
    models = view._ninja_operation.models  # type: ignore[attr-defined]
    found = [model for model in models if model.__ninja_param_source__ == "query"]
    return tuple(name for model in found for name in model.__ninja_flatten_map__)


def strict(view: View) -> View:
    """For every call of the API: refuse unknown parameters and fields.

    Token exchange, which answers with OAuth errors, does this itself.
    """
    operation = view._ninja_operation  # type: ignore[attr-defined]
    if operation.auth_param is None:
        return view
    known = known_to(view)
    reads_body = any(model.__ninja_param_source__ == "body" for model in operation.models)

    @wraps(view)
    def checked(request: HttpRequest, **values: Any) -> HttpResponse:
        check_query(dict(request.GET.lists()), known)
        if not reads_body and request.method != "GET" and request.body:
            fields = list(StrictParser().parse_body(request))[:MAX_ERRORS]
            if fields:
                raise Invalid([{"loc": [name[:MAX_NAME]], "message": "This call takes no fields."} for name in fields])
        return view(request, **values)

    return checked


class StrictParser(Parser):
    """The body parser for ninja."""

    def parse_body(self, request: HttpRequest) -> DictStrAny:
        """Raises UnsupportedMedia, and what ``parse_json`` raises."""
        kind, _, parameters = (request.content_type or "").partition(";")
        charset = (request.content_params or {}).get("charset", "utf-8").lower()
        if kind.strip().lower() != "application/json" or charset not in {"utf-8", "utf8"} or parameters:
            raise UnsupportedMedia
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise UnsupportedMedia("Send the body without compression.")
        return parse_json(request.body)


def parse_json(raw: bytes) -> DictStrAny:
    """The object. Raises TooLarge or BadRequest with the reason."""
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"A body may have at most {MAX_BYTES} bytes.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest("The body is not UTF-8.") from error
    try:
        body = strict_json.loads(text, max_depth=MAX_DEPTH)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at")  # as some of Python's messages end
        raise BadRequest(f"The body is not JSON: {reason} at line {error.lineno}, column {error.colno}.") from error
    except strict_json.NotStrict as error:
        raise BadRequest(f"The body is not acceptable. {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    return body
