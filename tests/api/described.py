"""Compares real answers with the API's description at ``/v1/openapi.json``.

More strictly than an agent may: the description lets objects grow, and here every member must be described.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from typing import Any

import httpx2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

METHODS = ("get", "put", "post", "delete", "patch")
PROBLEM = "application/problem+json"
FORMATS = FormatChecker(())


@FORMATS.checks("date-time", ValueError)
def is_time_in_utc(value: object) -> bool:
    if not isinstance(value, str):
        return True
    datetime.fromisoformat(value)
    return re.fullmatch(r"[-\dT:.]+Z", value) is not None


def strict(node: Any) -> Any:
    """The description with ``additionalProperties`` false in every object whose members it names."""
    if isinstance(node, list):
        return [strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {name: strict(value) for name, value in node.items()}
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return found


class Described:
    """``root`` is the document as it is."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._schemas = {"components": strict(root["components"])}

    @classmethod
    @cache
    def at(cls, url: str) -> Described:
        """What the service at ``url`` says of itself."""
        return cls(httpx2.get(f"{url}/v1/openapi.json", trust_env=False, timeout=60).json())

    def calls(self) -> list[tuple[str, str]]:
        """(METHOD, path with {placeholders}) of every call that is described."""
        found = self.root["paths"].items()
        return [(method.upper(), path) for path, item in found for method in METHODS if method in item]

    def operation(self, request: httpx2.Request) -> dict[str, Any] | None:
        """The description of the call, if it is one."""
        path = request.url.path
        fitting = [one for one in self.root["paths"] if re.fullmatch(_pattern(one), path)]
        found: dict[str, Any] = self.root["paths"][min(fitting, key=lambda one: one.count("{"))] if fitting else {}
        return found.get(request.method.lower())

    def check(self, response: httpx2.Response) -> None:
        """AssertionError unless the answer's status, media type and body are what is described for its call."""
        operation = self.operation(response.request)
        kind = response.headers.get("content-type", "").partition(";")[0]
        what = f"{response.request.method} {response.request.url.path}: {response.status_code}"
        answers = operation["responses"] if operation else {}
        answer = answers.get(str(response.status_code)) or answers.get("default")
        if answer is None:
            assert kind == PROBLEM, f"{what} {kind}"
            self.fits({"$ref": "#/components/schemas/Problem"}, response.json(), what)
        elif "content" not in answer:
            assert response.content == b"", what
        else:
            assert kind in answer["content"], f"{what} {kind}"
            if kind.endswith("json"):
                self.fits(answer["content"][kind]["schema"], response.json(), what)

    def fits(self, schema: dict[str, Any], value: Any, what: str = "") -> None:
        """AssertionError unless ``value`` is what ``schema`` says, with all its members described."""
        wrong = self.why(schema, value)
        assert wrong is None, f"{what} {wrong}"

    def why(self, schema: dict[str, Any], value: Any) -> str | None:
        """Why ``value`` is not what ``schema`` says."""
        whole = strict(schema) | self._schemas
        found = best_match(Draft202012Validator(whole, format_checker=FORMATS).iter_errors(value))
        return f"{found.json_path}: {found.message}" if found else None


def _pattern(path: str) -> str:
    """A question's name may have slashes."""
    return re.sub(r"\{\w+\}", "[^/]+", path).replace("/draft/[^/]+", "/draft/.+")
