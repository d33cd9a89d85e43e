"""The protocols' JSON schemas (2020-12), read by ``jsonschema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker

SCHEMAS = Path(__file__).parent / "schemas"
FORMATS = FormatChecker()


@FormatChecker.checks(FORMATS, "uri")
def _is_uri(value: object) -> bool:
    if not isinstance(value, str):
        return True
    return bool(urlsplit(value).scheme) and value.isascii() and not set(value) & set(' <>"{}|\\^`')


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
        wrong = self._wrong(name, json.loads(json.dumps(value)))
        assert not wrong, wrong

    def fits(self, name: str, value: Any) -> bool:
        return not self._wrong(name, value)

    def _wrong(self, name: str, value: Any) -> list[str]:
        schema = {"$ref": f"#/$defs/{name}", "$defs": self.defs}
        found = Draft202012Validator(schema, format_checker=FORMATS).iter_errors(value)
        return [f"{name}{error.json_path[1:]}: {error.message}" for error in found]
