"""The contexts of the pages on which a person types an answer."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from elicit_flows.kinds.form.kind import Form
from gallery.asking import kind_templates, request_page
from gallery.everywhere import Context


def confirm_page(**more: Any) -> Context:
    what = {
        "title": "Delete",
        "host": "",
        "host_warning": "",
        "detail": "Delete these:\n\n12 files",
        "danger": True,
        "word": "CONFIRM",
        "confirm_label": "Delete",
        "decline_label": "Keep",
    }
    asked = {"kind": "confirm", **kind_templates("confirm"), "submit_url": "/c/el_1/submit"}
    return {**request_page(), **asked, "what": what, "faults": {}, "typed": {}, **more}


def x402_page(**more: Any) -> Context:
    what = {
        "title": "weather.example",
        "host": "weather.example",
        "host_warning": "",
        "url": "https://weather.example/report",
        "method": "GET",
        "description": "A weather report",
        "payee": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        "amount": 12_500,
        "symbol": "USDC",
        "decimals": 6,
        "network": "Base",
        "test": True,
    }
    asked = {"kind": "x402", **kind_templates("x402"), "submit_url": "/c/el_1/submit"}
    return {**request_page(), **asked, "what": {**what, **more}, "faults": {}, "typed": {}}


def credentials_page(**more: Any) -> Context:
    fields = [
        {"name": "key", "label": "API key", "secret": True, "help": "You find it under Settings."},
        {"name": "team", "label": "Team", "secret": False, "help": None},
    ]
    what = {"title": "API key, Team", "host": "", "host_warning": "", "fields": fields}
    asked = {"kind": "credentials", **kind_templates("credentials"), "submit_url": "/c/el_1/submit"}
    return {**request_page(), **asked, "what": what, "faults": {}, "typed": {}, **more}


def provider_page(**more: Any) -> Context:
    fields = [{"name": "sid", "label": "SID", "secret": False, "help": None, "pattern": "^AC", "example": "AC…"}]
    said = {
        "title": "Acme",
        "provider": "Acme",
        "find_url": "https://keys.acme.example/new",
        "checked_at": "api.acme.example",
    }
    page = credentials_page(**more)
    return {**page, "what": {"host": "", "host_warning": "", "fields": fields, **said}}


def tokens_page() -> Context:
    page = provider_page()
    return {**page, "what": {**page["what"], "tokens": True, "scopes": ["meters.read"]}}


def provider_off() -> Context:
    page = provider_page()
    return {**page, "what": {**page["what"], "fields": [], "find_url": "", "checked_at": ""}}


def refused_credentials() -> Context:
    return credentials_page(faults={"key": gettext("Fill this in.")}, typed={"key": "typed-secret", "team": "blue"})


QUESTIONS: Context = {
    "title": "About it",
    "description": "Two lines\n\nof help",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$", "description": "A word"},
        "notes": {"type": "string", "maxLength": 500, "default": "Some\nlines"},
        "start": {"type": "string", "format": "date-time"},
        "much": {"type": "number", "minimum": 1, "maximum": 2},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "one": {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "The first"}]},
        "town": {"type": "string", "enum": ["Baku", "Bern", "Bonn", "Cork", "Kyiv", "Oslo", "Riga", "Rome"]},
        "some": {"type": "array", "items": {"type": "string", "enum": ["b", "c"]}, "minItems": 1},
    },
    "required": ["name", "some"],
}

OWN_ANSWERS = [
    {
        "id": kind, "kind": kind, "message": "Which?", "required": True, "allowFreeformInput": True,
        "options": [{"id": "a", "label": "A", "description": "First", "recommended": True}, {"id": "b", "label": "B"}],
    }
    for kind in ("single-select", "multi-select")
]  # fmt: skip


def form_page(asked: Context | None = None, **more: Any) -> Context:
    what = Form().describe(asked or {"schema": QUESTIONS}, None)
    page = {"kind": "form", **kind_templates("form"), "what": what}
    return {
        **confirm_page(),
        **page,
        "shared": {"seq": 1, "asked": "0" * 16, "page": "pg_1"},
        "draft_url": "/c/el_1/draft",
        **more,
    }


def wrong_form_page() -> Context:
    """With everything answered, and everything wrong."""
    few = {key: QUESTIONS["properties"][key] for key in ("name", "notes", "start", "sure", "some")}
    faults = {f"q{number}": gettext("Fill this in.") for number in range(5)}
    typed = {f"q{number}": [f"typed {number}"] for number in range(5)}
    return form_page({"schema": {"properties": few, "required": ["name"]}}, faults=faults, typed=typed)
