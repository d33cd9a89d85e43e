"""The examples of the OpenAPI document: what the tests have sent to a service, and what it has answered.

``EXAMPLES=write`` makes the tests write the file (tests/api/test_examples.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from elicit_flows.domain.values import Json

FILE: Final = Path(__file__).with_name("openapi_examples.json")


def add(schema: Json) -> None:
    """Put the examples where the document has room for them."""
    if not FILE.exists():  # they are being written for the first time
        return
    calls = {
        one["operationId"]: one for item in schema["paths"].values() for one in item.values() if "responses" in one
    }
    for part in json.loads(FILE.read_text(encoding="utf-8")).values():
        for key, call in calls.items():
            _add_to(call, key, part)
        for kind, webhook in schema["webhooks"].items():
            if kind in part["events"]:
                _put(webhook["post"]["requestBody"], {kind.rpartition(".")[2]: part["events"][kind]})


def _add_to(call: Json, key: str, part: Json) -> None:
    said = part["parameters"].get(key, {})
    for parameter in call["parameters"]:
        if parameter["name"] in said:
            parameter.setdefault("example", said[parameter["name"]])
    if key in part["requests"]:
        _put(call["requestBody"], part["requests"][key])
    for status, answer in call["responses"].items():
        if f"{key} {status}" in part["responses"]:
            _put(answer, part["responses"][f"{key} {status}"])


def _put(place: Json, found: Json) -> None:
    """The first medium is JSON or a form; a stream comes after it."""
    shown = next(iter(place["content"].values())).setdefault("examples", {})
    for name, value in found.items():
        shown.setdefault(name, {"value": value})
