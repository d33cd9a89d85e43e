"""The contexts of the pages that belong to no request and no account."""

from __future__ import annotations

from django.utils.translation import gettext

from gallery.everywhere import Context, everywhere


def docs_page() -> Context:
    row = {"name": "kind", "type": "string", "required": True, "description": "What to ask for."}
    operation = {
        "method": "post",
        "path": "/v1/elicitations",
        "summary": "Ask a user",
        "description": "Makes an\nelicitation.\n\nSend a key to be safe.",
        "anchor": "create",
        "tag": "Elicitations",
        "params": [{**row, "where": "header"}],
        "body": [row],
        "responses": [{"status": "201", "description": "Made."}],
    }
    api = {"title": "Elicit Flows API", "version": "1", "description": "Ask the user of an agent."}
    errors = [{"code": "invalid", "status": 422, "title": "A value is not acceptable", "anchor": "error-invalid"}]
    return {
        **everywhere(),
        "api": api,
        "errors": errors,
        "operations": [operation, {**operation, "anchor": "again", "tag": "Others"}],
    }


def refused_page() -> Context:
    said = gettext("There were too many requests for unknown links from your network.")
    page = {"title": gettext("Too many requests"), "detail": said, "http_status": 429}
    return {**everywhere(), **page, "back_url": "/", "back_label": "Back"}


def unsubscribe_page(**more: str) -> Context:
    return {**everywhere(), "here_url": "/unsubscribe/v1", "agent_name": "Drive Bot", "done": "", **more}


def catalogue_page() -> Context:
    entry = {
        "slug": "acme",
        "name": "Acme Drive",
        "kind": "OAuth",
        "checked": "library",
        "level": gettext("Several libraries have the same addresses"),
    }
    more = {
        "checked_on": None,
        "libraries": ("grant", "arctic"),
        "note": "A note.",
        "source_url": "https://acme.example.com/docs",
    }
    asked = {"q": "a", "kind": "oauth", "checked": ""}
    return {
        **everywhere(),
        "asked": asked,
        "kinds": [("oauth", "OAuth")],
        "levels": [("library", gettext("Several libraries have the same addresses"))],
        "total": 2,
        "entries": [{**entry, **more}],
    }


def code_page() -> Context:
    return {**everywhere(), "typed": "WDJB", "unknown": True}


def passkey_page(ceremony: str = "get") -> Context:
    asked = {"ceremony": ceremony, "options": "{}", "state": "s", "url": "/login/local/passkey", "name": "Alice"}
    return {**everywhere(), **asked}
