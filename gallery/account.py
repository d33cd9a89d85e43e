"""The contexts of the pages of /account."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from elicit_flows.lib import clock, locales
from gallery.asking import ORDER
from gallery.brands import PICTURE
from gallery.everywhere import Context, everywhere


def a_connection(**more: Any) -> Context:
    return {
        "id": "cn_1",
        "provider_name": "Acme Drive",
        "account_label": "alice@acme.example",
        "agent_name": "Drive Bot",
        "picture": PICTURE if more.get("id", "cn_1") == "cn_1" else None,
        "scopes": ["files.read"],
        "scope_words": {},
        "typed": False,
        "own_client": False,
        "status": "active",
        "health": more.get("status", "ok"),
        "upstream": "none",
        "untold": False,
        "removal_url": "",
        "created_at": clock.now() - timedelta(days=3),
        "last_used_at": clock.now() - timedelta(hours=2),
        "unused": False,
        "revoked_at": None,
        **more,
    }


def room_page(tab: str, **more: Any) -> Context:
    """What every page of /account says."""
    common = {"me": {"label": "alice"}, "tab": tab, "held": {"agents": 2, "accounts": 3}, "waiting": 1, "erasing": None}
    listed = {"q": "", "searchable": False, "here_url": "/account", "more_url": "", "start_url": ""}
    return {**everywhere(), **common, **listed, **more}


def account_page(**more: Any) -> Context:
    stale = a_connection(id="cn_2", status="reauthorization_required", last_used_at=None, agent_name="Other Bot")
    typed = a_connection(id="cn_4", provider_name="Acme's keys", account_label="", typed=True, scopes=[])
    old = a_connection(id="cn_5", account_label="", unnamed=True, unused=True, agent_name="Key Bot")
    drive = {"name": "Acme Drive", "slug": "acme", "picture": PICTURE, "total": 4, "accounts": [
        {"label": "alice@acme.example", "connections": [a_connection(), stale]}, {"label": "", "connections": [old]},
    ]}  # fmt: skip
    keys = {"name": "Acme's keys", "slug": "", "picture": None, "total": 0, "accounts": [
        {"label": "", "connections": [typed | {"agent_name": "Key Bot"}]},
    ]}  # fmt: skip
    return room_page("connections", providers=[drive, keys], just_ended=None, **more)


def found_page(**more: Any) -> Context:
    """A part of many, and a search."""
    found = {"q": "drive", "searchable": True, "more_url": "/account?q=drive&after=1-cn_1"}
    found |= {"start_url": "/account?q=drive"}
    return {**account_page(), **found, **more}


def just_ended(**more: Any) -> Context:
    return account_page() | {"just_ended": a_connection(status="revoked", all_of="") | more}


def past_page() -> Context:
    rows = [a_connection(id="cn_3", status="revoked", upstream="pending", revoked_at=clock.now())]
    return room_page("connections", ended=rows)


def requests_page(**more: Any) -> Context:
    expires = clock.now() + timedelta(minutes=15)
    one = {"message": "Connect Acme Drive.", "agent_name": "Drive Bot", "url": "/c/el_1", "expires_at": expires}
    return room_page("requests", requests=[one], part="", **more)


def answered_page() -> Context:
    ended = [
        ("oauth", "completed"), ("oauth", "declined"), ("confirm", "completed"), ("confirm", "declined"),
        ("form", "declined"), ("payment", "cancelled"), ("payment", "expired"), ("payment", "failed"),
    ]  # fmt: skip
    one = {"message": "Connect Acme Drive.", "agent_name": "Drive Bot", "url": "/c/el_1"}
    at = clock.now() - timedelta(hours=2)
    rows = [{**one, "kind": kind, "status": status, "finished_at": at} for kind, status in ended]
    return requests_page() | {"requests": rows, "part": "answered"}


def sessions() -> list[Context]:
    at = clock.now() - timedelta(hours=1)
    named = [("Firefox", "Linux"), ("Safari", "iPhone"), ("Chrome", ""), ("", "")]
    return [
        {"id": number, "browser": browser, "system": system, "began_at": at, "used_at": at, "here": number == 1}
        for number, (browser, system) in enumerate(named, 1)
    ]


def authorizations() -> list[Context]:
    """One in each state."""
    return [
        {
            "id": f"xa_{number}",
            "host": "weather.example",
            "url": "https://weather.example/report",
            "agent_name": "Drive Bot",
            "amount": 10_000 + number,
            "symbol": "USDC",
            "decimals": 6,
            "payee": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
            "network": "Base",
            "status": status,
            "livemode": number > 1,
            "date": clock.now(),
        }
        for number, status in enumerate(("reserved", "signed", "lapsed"), 1)
    ]


def payments_page(**more: Any) -> Context:
    return {**room_page("payments", payments=payments(), part="", just_ended=None), **more}


def security_page(**more: Any) -> Context:
    sign_in = {"began": clock.now() - timedelta(hours=1), "ends": clock.now() + timedelta(hours=11)}
    return room_page("security", **sign_in, passkeys_url="/account/passkeys", **{"sessions": sessions(), **more})


def told_page(**more: Any) -> Context:
    agents = [
        {"slug": "drive-bot", "name": "Drive Bot", "told": True},
        {"slug": "other-bot", "name": "Other Bot", "told": False},
    ]
    at = clock.now() - timedelta(days=3)
    named = [("Firefox", "Linux"), ("Chrome", "Android"), ("", "")]
    browsers = [
        {"id": number, "browser": browser, "system": system, "created_at": at}
        for number, (browser, system) in enumerate(named, 1)
    ]
    push = {"push_key": "B" + "A" * 86, "browsers": browsers}
    told = {"email": "alice@example.com", "told": True, "agents": agents, **push, **more}
    return security_page(notifications=told, saved="notifications")


USES = [
    ("connected", "person"), ("fetched", "agent"), ("opened", "agent"), ("called", "agent"), ("refreshed", "service"),
    ("reported", "agent"), ("lapsed", "provider"), ("revoked", "person"), ("revoked", "agent"),
    ("revoked", "operator"), ("revoked", "service"),
]  # fmt: skip


def uses(*done: tuple[str, str]) -> Context:
    """A day of it: each once, and once for eleven minutes."""
    now = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    rows = [
        {"action": action, "actor": actor, "count": count, "first_at": now - timedelta(minutes=11 * count - 11),
         "last_at": now}
        for action, actor in done
        for count in (1, 2)
    ]  # fmt: skip
    return {"day": now.date(), "uses": rows}


def activity_page() -> Context:
    done = [{"use": use, "connection": a_connection()} for use in uses(*USES[:2])["uses"]]
    return room_page("activity", days=[{"day": date(2026, 11, 20), "uses": done}])


def connection_page(**more: Any) -> Context:
    agent = {"of_agent": 2, "agent_slug": "drive-bot", "more_url": "", "start_url": ""}
    said = {
        "status": "active", "connection": a_connection(**more), "days": [uses(USES[1])], "calls": [],
        "tokens_never_leave": False,
    }  # fmt: skip
    return {**everywhere(), **agent, **said}


def calls_page() -> Context:
    """Of an agent that gets no token."""
    at = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    seen = [("GET", "/v2/files", 200, 12), ("DELETE", "/v2/files/{id}", 404, 1), ("POST", "", 0, 1)]
    calls = [
        {"method": method, "host": "api.drive.example", "path": path, "status": status, "count": count,
         "first_at": at - timedelta(minutes=count), "last_at": at}
        for method, path, status, count in seen
    ]  # fmt: skip
    return {**connection_page(), "days": [uses(("called", "agent"))], "calls": calls, "tokens_never_leave": True}


def untold(**more: Any) -> Context:
    """A connection that ended at a provider that cannot be told."""
    return {"untold": True, "removal_url": "https://drive.example/account/apps", **more}


def ended_page(upstream: str = "pending", **more: Any) -> Context:
    ended = connection_page(status="revoked", upstream=upstream, revoked_at=clock.now(), **more)
    return {**ended, "status": "revoked", "days": [], "of_agent": 0}


def delete_page(**more: Any) -> Context:
    counts = {"connections": 1, "elicitations": 2, "payments": 3}
    going = {"description": "The paper", "agent": {"name": "Shop Bot"}}
    until = datetime(2026, 12, 22, tzinfo=UTC)
    shown = {"subscriptions": [{**going, "period_end": until}], "running": [going]}
    return {**everywhere(), "me": {"label": "alice"}, "counts": counts, **shown, **more}


def payments() -> list[Context]:
    """One in every state."""
    paid = {
        "id": "pa_1",
        "signed": True,
        "description": "A report",
        "mode": "pay",
        "amount": 123450,
        "currency": "eur",
        "amount_refunded": 0,
        "status": "paid",
        "dispute": None,
        "agent_name": "Shop Bot",
        "livemode": True,
        "date": clock.now() - timedelta(days=2),
        "receipt_url": "https://pay.example/receipt",
        "order": None,
        "period_end": None,
        "ends_at": None,
        "subscription": "",
        "past_due": False,
        "grace_until": None,
        "cancelling": False,
    }
    month = {"status": "active", "mode": "subscribe", "period_end": datetime(2026, 12, 22, tzinfo=UTC)}
    month["subscription"] = "su_1"
    saved = {"mode": "save", "amount": 0, "receipt_url": ""}
    invoice = {"invoice_url": "https://pay.example/invoice", "invoice_pdf": "https://pay.example/invoice.pdf"}
    unpaid = {"receipt_url": "", "signed": False}
    late = {"past_due": True, "grace_until": datetime(2026, 12, 25, tzinfo=UTC)}
    shown = [
        paid,
        {**paid, "description": "Half of it", "amount_refunded": 61700, "dispute": "open"},
        {**paid, "description": "All of it", "amount_refunded": 123450, "status": "refunded"},
        {**paid, "description": "By bank", "status": "processing", **unpaid},
        {**paid, **saved, "description": "A card", "status": "saved"},
        {**paid, "description": "The paper", "status": "active", "mode": "subscribe", "currency": "jpy"},
        {**paid, **month, "description": "The news"},
        {**paid, **month, "description": "The weekly", "ends_at": month["period_end"]},
        {**paid, **month, "description": "The daily", "cancelling": True},
        {**paid, **saved, "description": "An old card", "status": "removed"},
        {**paid, **month, **late, "description": "The magazine"},
        {**paid, **invoice, "description": "Things", "order": ORDER, "amount": 990},
        {**paid, "description": "Odd", "status": "mismatch", "livemode": False, **unpaid},
    ]
    return [{**one, "id": f"pa_{number}"} for number, one in enumerate(shown, 1)]


def mandates() -> list[Context]:
    """One that holds, and one that has ended."""
    active = {
        "id": "ma_1",
        "description": "Train tickets",
        "agent_name": "Travel Bot",
        "livemode": True,
        "currency": "eur",
        "per_charge": 2000,
        "per_day": 4000,
        "per_month": None,
        "total": 123450,
        "until": datetime(2027, 1, 31, tzinfo=UTC),
        "notice": "before",
        "status": "active",
        "method": "visa 4242",
        "payment": "pa_1",
        "used": {"per_day": 2000, "per_month": 2000, "total": 2000},
    }
    return [active, {**active, "id": "ma_2", "description": "Taxis", "status": "ended", "livemode": False}]


def mandate_page(number: int = 0, **more: Any) -> Context:
    """With a charge in every state."""
    charge = {
        "id": "mc_1",
        "description": "A ticket to Bern",
        "amount": 1290,
        "currency": "eur",
        "amount_refunded": 0,
        "at": clock.now(),
        "url": "",
    }
    states = ("announced", "processing", "requires_action", "paid", "mismatch", "failed")
    charges = [{**charge, "id": f"mc_{state}", "status": state} for state in states]
    charges[2]["url"], charges[3]["amount_refunded"] = "/c/el_1", 290
    limits = {"per_charge": "20.00", "per_day": "40.00", "per_month": "", "total": "1234.50"}
    mark = locales.decimal_mark()
    fields = [{"name": name, "value": value.replace(".", mark)} for name, value in limits.items()]
    mandate = {**mandates()[number], "fields": fields, "payment": "pa_1", "replaceable": number == 0}
    shown = {"mandate": mandate, "charges": charges, "just": "", "wrong": {}}
    return room_page("payments", **{**shown, **more})


def subscription_page(number: int = 6, *, kept: bool = False, **more: Any) -> Context:
    """With a renewal in every state."""
    start, end = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 12, 22, tzinfo=UTC)
    renewal = {"amount": 123450, "currency": "eur", "start": start, "end": end}
    renewal |= {"receipt_url": "", "invoice_pdf": "", "pay_url": ""}
    renewals = [{**renewal, "id": f"rn_{status}", "status": status} for status in ("open", "failed", "void", "paid")]
    renewals[1]["pay_url"] = renewals[3]["receipt_url"] = "https://pay.example/invoice"
    renewals[3]["invoice_pdf"] = "https://pay.example/invoice.pdf"
    shown = {"payment": payments()[number], "renewals": renewals, "kept": kept}
    return room_page("payments", **{**shown, **more})


def passkeys_page() -> Context:
    made = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    keys = [
        {"pk": 1, "created_at": made, "last_used_at": None, "backed_up": True},
        {"pk": 2, "created_at": made, "last_used_at": made + timedelta(days=1), "backed_up": False},
    ]
    return {**everywhere(), "me": {"label": "alice"}, "passkeys": keys}
