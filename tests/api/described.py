"""Holds real answers against the description at ``/v1/openapi.json``: JSON Schema as far as the description uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx2

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}  # fmt: skip
KNOWN = {
    "$ref", "anyOf", "enum", "const", "type", "properties", "required", "items", "format", "additionalProperties",
    "title", "description", "examples", "default", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
}  # fmt: skip
METHODS = ("get", "put", "post", "delete", "patch")


class Described:
    def __init__(self, url: str) -> None:
        self.root = httpx2.get(f"{url}/v1/openapi.json", trust_env=False).json()

    def calls(self) -> list[tuple[str, str]]:
        """(METHOD, path with {placeholders}) of every call that is described."""
        found = self.root["paths"].items()
        return [(method.upper(), path) for path, item in found for method in METHODS if method in item]

    def check(self, response: httpx2.Response) -> None:
        """AssertionError unless the answer's status, media type and body are what is described for its call."""
        path = response.request.url.path
        template = next(one for one in self.root["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one), path))
        answers = self.root["paths"][template][response.request.method.lower()]["responses"]
        answer = answers.get(str(response.status_code), answers["default"])
        kind = response.headers.get("content-type", "").partition(";")[0]
        if "content" not in answer:
            assert response.content == b""
            return
        assert kind in answer["content"], f"{response.request.method} {path} answered {kind}"
        if kind.endswith("json"):
            wrong = list(self.wrong(answer["content"][kind]["schema"], response.json(), "body"))
            assert not wrong, wrong

    def wrong(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        assert schema.keys() <= KNOWN, f"the description uses {schema.keys() - KNOWN}, which this reader cannot check"
        if "$ref" in schema:
            yield from self.wrong(self.root["components"]["schemas"][schema["$ref"].rpartition("/")[2]], value, at)
        elif "anyOf" in schema:
            found = [list(self.wrong(one, value, at)) for one in schema["anyOf"]]
            yield from [] if [] in found else min(found, key=len)
        elif value not in schema.get("enum", [schema.get("const", value)]):
            yield f"{at}: {value!r} is none of the values"
        elif "type" in schema and not _is(schema["type"], value):
            yield f"{at}: {value!r} is not of type {schema['type']}"
        else:
            yield from self._inside(schema, value, at)

    def _inside(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        if isinstance(value, dict) and "properties" in schema:
            names = schema["properties"].keys()
            yield from (f"{at}.{name} is missing" for name in schema.get("required", []) if name not in value)
            yield from (f"{at}.{name} is not described" for name in value.keys() - names)
            for name in value.keys() & names:
                yield from self.wrong(schema["properties"][name], value[name], f"{at}.{name}")
        if isinstance(value, list):
            for place, one in enumerate(value):
                yield from self.wrong(schema["items"], one, f"{at}[{place}]")
        if schema.get("format") == "date-time" and not re.fullmatch(r"[-\dT:.]+Z", value):
            yield f"{at}: {value!r} is not a time in UTC"
        elif schema.get("format") == "date-time":
            datetime.fromisoformat(value)


def _is(name: str, value: Any) -> bool:
    return isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name in {"integer", "number"})
