"""Two forms with everything that can be asked, one in each dialect, and how they are answered."""

from __future__ import annotations

from typing import Any

from elicit_flows import kinds
from elicit_flows.domain.values import Claim, Json, Visit

SCHEMA: Json = {
    "type": "object",
    "title": "About the trip",
    "description": "A few things we need before we book.",
    "properties": {
        "name": {"type": "string", "title": "Full name", "minLength": 2, "maxLength": 60},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "site": {"type": "string", "format": "uri", "default": "https://example.com"},
        "day": {"type": "string", "format": "date"},
        "start": {"type": "string", "format": "date-time", "default": "2026-05-01T10:00:00+02:00"},
        "code": {
            "type": "string", "title": "Booking reference", "description": "Three letters, a dash, two digits.",
            "pattern": "^[A-Z]{3}-[0-9]{2}$",
        },
        "notes": {"type": "string", "maxLength": 2000},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "budget": {"type": "number", "minimum": -1.5},
        "window": {"type": "boolean", "default": True},
        "news": {"type": "boolean", "title": "Tell me about delays"},
        "class": {"type": "string", "enum": ["eco", "biz"], "enumNames": ["Economy", "Business"], "default": "eco"},
        "meal": {
            "type": "string",
            "oneOf": [
                {"const": "v", "title": "Vegetarian", "description": "No meat, no fish"},
                {"const": "n", "title": "Anything"},
            ],
        },
        "city": {"type": "string", "enum": ["Rome", "Oslo", "Bern", "Kyiv", "Riga", "Baku", "Bonn", "Cork"]},
        "extras": {
            "type": "array", "items": {"type": "string", "enum": ["wifi", "lounge", "bag"]},
            "minItems": 1, "maxItems": 2, "default": ["wifi"],
        },
        "seat": {
            "type": "array", "items": {"anyOf": [{"const": "a", "title": "Aisle"}, {"const": "b", "title": "Back"}]},
            "uniqueItems": True,
        },
    },
    "required": ["name", "email", "class", "extras", "news", "city"],
}  # fmt: skip
ORDER = list(SCHEMA["properties"])
NAMES = {key: f"q{place}" for place, key in enumerate(ORDER)}

QUESTIONS: list[Json] = [
    {
        "id": "title", "kind": "text", "title": "Name", "message": "What is it called?", "required": True,
        "min": 2, "max": 30, "defaultValue": "Atlas",
    },
    {"id": "who", "kind": "text", "message": "Whom may I write to?", "format": "email"},
    {"id": "weight", "kind": "number", "message": "How heavy?", "min": 0.5, "max": 10, "defaultValue": 1.5},
    {"id": "count", "kind": "integer", "message": "How many?", "required": True},
    {"id": "keep", "kind": "boolean", "message": "Keep the old ones?", "defaultValue": False},
    {
        "id": "runtime", "kind": "single-select", "message": "Which runtime?", "required": True,
        "options": [
            {"id": "node", "label": "Node.js", "description": "The usual one", "recommended": True},
            {"id": "deno", "label": "Deno"},
        ],
        "allowFreeformInput": True,
    },
    {
        "id": "checks", "kind": "multi-select", "message": "Which checks?", "min": 1, "max": 2,
        "options": [{"id": "lint", "label": "Lint"}, {"id": "types", "label": "Types"}], "allowFreeformInput": True,
    },
    {
        "id": "region", "kind": "single-select", "message": "Which region?", "allowFreeformInput": True,
        "options": [{"id": f"r{number}", "label": f"Region {number}"} for number in range(9)],
    },
    {
        "id": "size", "kind": "single-select", "message": "Which size?",
        "options": [{"id": "s", "label": "Small"}, {"id": "l", "label": "Large"}],
    },
]  # fmt: skip


def visit(params: Json) -> Visit:
    asked = kinds.get("form").clean(params)
    return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, "http://127.0.0.1/callback/form")


def of_schema(properties: Json, *required: str, **more: Any) -> Json:
    return {"schema": {"type": "object", "properties": properties, "required": list(required), **more}}


def one(given: Json, *, required: bool = False) -> Json:
    """A form with the property ``x`` alone."""
    return of_schema({"x": given}, *(["x"] if required else []))


def question(kind: str, **more: Any) -> Json:
    """A form with the question ``x`` alone."""
    return {"questions": [{"id": "x", "kind": kind, "message": "What?", **more}]}
