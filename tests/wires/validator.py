"""JSON Schema 2020-12 as far as the protocols' schemas use it. A keyword that is new to it is an error, not a pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SCHEMAS = Path(__file__).parent / "schemas"
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip
# The others say nothing about a value; ``unevaluatedProperties`` is true wherever it stands.
KNOWN = {
    "$ref", "anyOf", "oneOf", "allOf", "not", "const", "enum", "type", "properties", "required", "items",
    "additionalProperties", "minimum", "format", "unevaluatedProperties",
}  # fmt: skip


def definitions(*files: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in files:
        found |= json.loads((SCHEMAS / name).read_text())["$defs"]
    return found


class Schema:
    """Definitions of one protocol: ``Schema("acp.json").check("CreateElicitationRequest", value)``."""

    def __init__(self, *files: str) -> None:
        self.defs = definitions(*files)

    def check(self, name: str, value: Any) -> None:
        """AssertionError unless ``value``, as it comes out of JSON, is what the definition says."""
        wrong = list(self.wrong({"$ref": f"#/$defs/{name}"}, json.loads(json.dumps(value)), name))
        assert not wrong, wrong

    def fits(self, name: str, value: Any) -> bool:
        return not list(self.wrong({"$ref": f"#/$defs/{name}"}, value, name))

    def wrong(self, schema: Any, value: Any, at: str) -> Iterator[str]:
        if isinstance(schema, bool):
            yield from [] if schema else [f"{at} may not be there"]
            return
        assert schema.keys() <= KNOWN, f"{at}: {schema.keys() - KNOWN} is nothing that this reader can check"
        if "$ref" in schema:
            yield from self.wrong(self.defs[schema["$ref"].removeprefix("#/$defs/")], value, at)
        yield from self._combined(schema, value, at)
        yield from _alone(schema, value, at)
        if isinstance(value, dict):
            yield from self._members(schema, value, at)
        if isinstance(value, list) and "items" in schema:
            for place, one in enumerate(value):
                yield from self.wrong(schema["items"], one, f"{at}[{place}]")

    def _combined(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        for one in schema.get("allOf", []):
            yield from self.wrong(one, value, at)
        for name in ("anyOf", "oneOf"):
            if name in schema:
                found = [list(self.wrong(one, value, at)) for one in schema[name]]
                if [] not in found:
                    yield f"{at}: {value!r} is none of {name}: {min(found, key=len)}"
                elif name == "oneOf" and found.count([]) > 1:
                    yield f"{at}: {value!r} is several of oneOf"
        if "not" in schema and not list(self.wrong(schema["not"], value, at)):
            yield f"{at}: {value!r} is what it must not be"

    def _members(self, schema: dict[str, Any], value: dict[str, Any], at: str) -> Iterator[str]:
        known = schema.get("properties", {})
        yield from (f"{at}.{name} is missing" for name in schema.get("required", []) if name not in value)
        for name, one in value.items():
            if name in known:
                yield from self.wrong(known[name], one, f"{at}.{name}")
            elif "additionalProperties" in schema:
                yield from self.wrong(schema["additionalProperties"], one, f"{at}.{name}")


def _alone(schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
    if "const" in schema and not _same(schema["const"], value):
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and not any(_same(one, value) for one in schema["enum"]):
        yield f"{at}: {value!r} is none of {schema['enum']}"
    types = schema.get("type", [])
    if types and not any(_is(name, value) for name in ([types] if isinstance(types, str) else types)):
        yield f"{at}: {value!r} is not of type {types}"
    if "minimum" in schema and _is("number", value) and value < schema["minimum"]:
        yield f"{at}: {value} is less than {schema['minimum']}"
    if schema.get("format") == "uri" and isinstance(value, str) and not _is_uri(value):
        yield f"{at}: {value!r} is no address"


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def _is(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer())


def _is_uri(text: str) -> bool:
    return bool(urlsplit(text).scheme) and text.isascii() and not set(text) & set(' <>"{}|\\^`')
