"""A second implementation of JSON Schema's keywords, to check answers independently of ours."""

from __future__ import annotations

import re
from datetime import date, datetime
from email.headerregistry import Address
from typing import Any
from urllib.parse import urlsplit

from elicit_flows.domain.values import Json

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,), "array": (list,),
}  # fmt: skip


def fits(schema: Json, content: Json) -> bool:
    """Whether ``content`` is valid under ``schema``, with nothing in it that the schema does not name."""
    known = schema["properties"]
    return (
        set(content) <= set(known)
        and set(schema.get("required", [])) <= set(content)
        and all(_value(known[key], value) for key, value in content.items())
    )


def _value(rule: Json, value: Any) -> bool:
    if not isinstance(value, TYPES[rule["type"]]) or (isinstance(value, bool) and rule["type"] != "boolean"):
        return False
    if isinstance(value, str):
        return _text(rule, value)
    if isinstance(value, list):
        offered = _offered(rule["items"], "anyOf")
        return all(one in offered for one in value) and rule.get("minItems", 0) <= len(value) <= rule.get(
            "maxItems", 999
        )
    return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))


def _offered(rule: Json, titled: str) -> list[str]:
    return [one["const"] for one in rule[titled]] if titled in rule else rule["enum"]


def _text(rule: Json, value: str) -> bool:
    if "enum" in rule or "oneOf" in rule:
        return value in _offered(rule, "oneOf")
    if not rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", len(value)):
        return False
    pattern = rule.get("pattern", "").replace("$", r"\Z")
    return bool(re.search(pattern, value, re.ASCII)) and _format(rule.get("format"), value)


def _format(name: str | None, value: str) -> bool:
    try:
        if name == "email":
            return bool(Address(addr_spec=value).domain)
        if name == "uri":
            return bool(urlsplit(value).scheme)
        if name == "date":
            return date.fromisoformat(value).isoformat() == value
        if name == "date-time":
            return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
    return True
