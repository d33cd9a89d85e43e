"""The contexts of the pages of a request, until it is answered."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from elicit_flows.lib import clock
from gallery.everywhere import Context, everywhere


def kind_templates(kind: str) -> Context:
    return {"kind_template": f"connect/kinds/{kind}.html", "next_template": f"connect/kinds/{kind}_next.html"}


def request_page() -> Context:
    return {
        **everywhere(),
        "status": "pending",
        "agent_name": "Drive Bot",
        "agent_host": "drive-bot.example",
        "message": "Connect Acme Drive so that I can list your files.",
        "what": {
            "title": "Acme Drive",
            "scopes": ["files.read", "profile"],
            "scope_words": {"files.read": {"": "Read your files"}},
            "reasons": {"files.read": "To find the contract with Globex."},
            "host": "acme.example",
            "host_warning": "",
        },
        "me": {"label": "alice@corp.example"},
        "expires_at": clock.now() + timedelta(minutes=15),
        "press": "press-1",
        "continue_url": "/c/el_1/continue",
        "decline_url": "/c/el_1/decline",
        "switch_url": "/switch",
        "login_url": "/login",
        "next": "/c/el_1",
        "other_device_url": "/c/el_1/other-device",
    }


def other_device(*, made: bool = False) -> Context:
    return {
        **everywhere(),
        "status": "pending",
        "link": "https://flows.example.com/c/el_Kq3v9ZtY2mXw7LpR4sNcB8dFhJ6gT1aE",
        "link_host": "flows.example.com",
        "code": "WDJB-MJHT" if made else "",
        "until": clock.now() + timedelta(minutes=10) if made else None,
        "code_page": "https://flows.example.com/code",
        "code_url": "/c/el_1/other-device/code",
        "connect_url": "/c/el_1",
        "draft_url": "/c/el_1/draft",
        "me": {"label": "alice@corp.example"},
    }


def changed_page(**more: Any) -> Context:
    change = {"held": "hg_1", "meant": "alice", "came": "bob"}
    return {**request_page(), "status": "started", "change": change, "choose_url": "/c/el_1/account", **more}


def yours_page(**more: Any) -> Context:
    return changed_page(change={"held": "hg_1", "meant": None, "came": "alice"}, **more)


def unnamed_page() -> Context:
    return {**yours_page(), "change": {"held": "hg_1", "meant": None, "came": ""}}


def which_page(count: int, came: str = "", **more: Any) -> Context:
    made = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
    earlier = [
        {"id": f"cn_{place}", "made": made - timedelta(days=9 * place), "meant": not place} for place in range(count)
    ]
    return changed_page(change={"held": "hg_1", "meant": None, "came": came, "earlier": earlier}, **more)


def shop_page(**more: Any) -> Context:
    """A provider of which only the person knows the address."""
    page = request_page()
    shop = {"name": "shop", "label": "Name of the shop", "help": "The first part of its address."}
    what = {**page["what"], "host": "", "variables": [{**shop, "example": "example-shop", "value": "evil.com#"}]}
    return {**page, "what": what, "faults": {}, **more}


def mcp_page(*, found: bool = True) -> Context:
    """A remote MCP server that nobody configured; ``found``: it is known where its users sign in."""
    page, host = request_page(), "login.notes.example" if found else ""
    server = {"title": "mcp.notes.example/mcp", "mcp": "https://mcp.notes.example/mcp", "issuer_host": host}
    return {**page, "what": {**page["what"], **server, "host": host, "scope_words": {}}, "typed_now": found}


def device_page() -> Context:
    page = request_page()
    return {**page, "what": {**page["what"], "host": "", "by_device": True}}


def code_to_type() -> Context:
    shown = {"code": "WDJB-MJHT", "address": "https://acme.example/device"}
    return {
        **everywhere(),
        "status": "started",
        "agent_name": "Drive Bot",
        "title": "Acme Drive",
        "shown": {**shown, "complete": "https://acme.example/device?user_code=WDJB-MJHT"},
        "until": clock.now() + timedelta(minutes=15),
        "host_warning": "",
        "connect_url": "/c/el_1",
        "done_url": "/c/el_1/done",
    }


def link_page() -> Context:
    what = {
        "title": "agent.example",
        "host": "agent.example",
        "host_warning": "",
        "url": "https://agent.example/terms",
        "completion": "on_return",
    }
    return {**request_page(), "kind": "link", **kind_templates("link"), "what": what}


ORDER: Context = {
    "lines": [
        {"name": "The paper, by post", "quantity": 2, "unit_amount": 400, "amount": 800},
        {"name": "Sending", "quantity": 1, "unit_amount": 133, "amount": 133},
    ],
    "tax": 57,
    "number": "PO-2026-17",
    "purpose": "For the office in Berlin",
}
TAX_LATER: Context = {**ORDER, "tax": 0, "tax_later": True, "subtotal": 933}


def payment_page(mode: str = "pay", interval: str | None = None, **more: Any) -> Context:
    what = {
        "title": "The paper",
        "host": "checkout.stripe.com",
        "host_warning": "",
        "livemode": True,
        "amount": 0 if mode in ("save", "mandate") else 990,
        "currency": "eur",
        "description": "The paper",
        "mode": mode,
        "interval": interval,
        "next_charge": date(2026, 12, 22) if mode == "subscribe" else None,
        "trial": more.pop("trial", False),
        "mandate": None,
        "order": more.pop("order", None),
        "item": "paper",
        "uses": None,
    }
    if more.pop("change", False):
        starts = datetime(2026, 12, 22, tzinfo=UTC)
        what |= {"host": "", "next_charge": None, "change": {"previous_amount": 790, "starts": starts}}
    if mode == "mandate":
        until = datetime(2027, 1, 31, tzinfo=UTC)
        limits = {"per_charge": 2000, "per_day": 4000, "per_month": 6000, "total": 123450, "until": until}
        what["mandate"] = {**limits, "notice": more.pop("notice", "after")}
    asked = {"kind": "payment", **kind_templates("payment"), "what": what, "came_back": False}
    return {**request_page(), **asked, **more}


def steps() -> list[Context]:
    return [
        {"title": "Acme Drive", "done": True, "here": False},
        {"title": "Quarterly report", "done": False, "here": True},
        {"title": "Questions", "done": False, "here": False},
    ]


CHOICES = [{"slug": "corp", "label": "Corp"}, {"slug": "lab", "label": "Lab"}]
