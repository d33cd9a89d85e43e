"""The contexts of the pages that say how a request ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext

from elicit_flows.lib import clock
from gallery.everywhere import Context, everywhere


def outcome_page(status: str = "completed", kind: str = "oauth") -> Context:
    return {
        **everywhere(),
        "kind": kind,
        "status": status,
        "agent_name": "Drive Bot",
        "error": {"detail": gettext("The provider does not accept the grant."), "technical": ""},
        "connect_url": "/c/el_1",
        "return_url": "https://drive-bot.example/done",
        "outcome_templates": ["connect/kinds/oauth_outcome.html", "connect/_outcome.html"],
    }


def connected_page() -> Context:
    gained = {
        "name": "Acme Drive",
        "account": "alice@acme.example",
        "scopes": ["files.read", "files.write"],
        "scope_words": {"files.read": "See your files"},
        "url": "/account/connections/cn_1",
    }
    return {**outcome_page(), "gained": [gained], "returns": True}


def late_page(status: str, days: int = 0) -> Context:
    more = {"answered": True, "yes_or_no": True, "finished_at": clock.now() - timedelta(days=days)}
    more["undo_url"] = "/account/connections/cn_1" if status == "completed" else ""
    return {**outcome_page(status), **more}


def unavailable_page(**more: Any) -> Context:
    return {
        **everywhere(),
        "name": "Acme Drive",
        "detail": gettext("The provider does not answer."),
        "expires_at": clock.now() + timedelta(minutes=15),
        "connect_url": "/c/el_1",
        "continue_url": "/c/el_1/continue",
        "decline_url": "/c/el_1/decline",
        "press": "press-1",
        **more,
    }


def payment_outcome_page(
    status: str = "completed", mode: str = "pay", order: Context | None = None, changes: str = ""
) -> Context:
    asked = {
        "mode": mode,
        "amount": 990 if order else 1999,
        "currency": "eur",
        "description": "A report",
        "order": order,
    }
    asked["changes"] = changes
    if order:
        asked |= {"invoice_url": "https://pay.example/invoice", "invoice_pdf": "https://pay.example/invoice.pdf"}
    receipt = "https://pay.example/receipt" if status == "completed" else ""
    templates = ["connect/kinds/payment_outcome.html", "connect/_outcome.html"]
    return {**outcome_page(status, "payment"), "asked": asked, "receipt_url": receipt, "outcome_templates": templates}
