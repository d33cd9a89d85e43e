"""The pages with examples of what the views give them, and a reader of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from django.template.loader import get_template
from django.utils import translation

from elicit_flows.kinds.form import Form
from elicit_flows.lib import clock
from elicit_flows.states import Status

ROOT = Path(__file__).resolve().parents[2]
BARE = ["400.html", "403.html", "403_csrf.html", "404.html", "500.html"]
VOID = {"meta", "link", "input", "br", "circle", "path"}
Context = dict[str, Any]


class Page(HTMLParser):
    """A page as a list of (tag, attributes), with its text and, per tag, what it contains."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source, self.tags, self.words, self.open = source, [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        parents = tuple(name for name, _ in self.open)
        self.tags.append((tag, dict(attrs), parents))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs), tuple(name for name, _ in self.open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1][0] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.tags if name == tag]

    def text(self) -> str:
        return " ".join(" ".join(data for _, data in self.words).split())

    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(attributes)) for tag, attributes, _ in self.tags]


def render(name: str, context: Context, language: str = "en") -> Page:
    with translation.override(language):
        return Page(get_template(name).render(deepcopy(context)))


def everywhere() -> Context:
    return {"service_name": "Elicit Flows", "allow_loopback": False, "csrf_token": "t" * 64, "status": ""}


def request_page() -> Context:
    return {
        **everywhere(),
        "status": "pending",
        "agent_name": "Drive Bot",
        "message": "Connect Acme Drive so that I can list your files.",
        "what": {
            "title": "Acme Drive",
            "scopes": ["files.read", "profile"],
            "scope_words": {"files.read": "Read your files"},
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
    }


def changed_page(**more: Any) -> Context:
    change = {"held": "hg_1", "meant": "alice", "came": "bob"}
    return {**request_page(), "status": "started", "change": change, "choose_url": "/c/el_1/account", **more}


def yours_page(**more: Any) -> Context:
    return changed_page(change={"held": "hg_1", "meant": None, "came": "alice"}, **more)


def unnamed_page() -> Context:
    return {**yours_page(), "change": {"held": "hg_1", "meant": None, "came": ""}}


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


def confirm_page(**more: Any) -> Context:
    what = {
        "title": "Delete",
        "host": "",
        "host_warning": "",
        "detail": "Delete these:\n\n12 files",
        "danger": True,
        "word": "Delete",
        "confirm_label": "Delete",
        "decline_label": "Keep",
    }
    asked = {"kind": "confirm", "kind_template": "connect/kinds/confirm.html", "submit_url": "/c/el_1/submit"}
    return {**request_page(), **asked, "what": what, "faults": {}, "typed": {}, **more}


def credentials_page(**more: Any) -> Context:
    fields = [
        {"name": "key", "label": "API key", "secret": True, "help": "You find it under Settings."},
        {"name": "team", "label": "Team", "secret": False, "help": None},
    ]
    what = {"title": "API key, Team", "host": "", "host_warning": "", "fields": fields}
    asked = {"kind": "credentials", "kind_template": "connect/kinds/credentials.html", "submit_url": "/c/el_1/submit"}
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
    return credentials_page(faults={"key": "API key is missing."}, typed={"key": "typed-secret", "team": "blue"})


QUESTIONS = {
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
    page = {"kind": "form", "kind_template": "connect/kinds/form.html", "what": what}
    return {**confirm_page(), **page, "shared": {"seq": 1, "asked": "0" * 16}, "draft_url": "/c/el_1/draft", **more}


def wrong_form_page() -> Context:
    """With everything answered, and everything wrong."""
    few = {key: QUESTIONS["properties"][key] for key in ("name", "notes", "start", "sure", "some")}
    faults = {f"q{number}": f"Fault {number}." for number in range(5)}
    typed = {f"q{number}": [f"typed {number}"] for number in range(5)}
    return form_page({"schema": {"properties": few, "required": ["name"]}}, faults=faults, typed=typed)


def link_page() -> Context:
    what = {
        "title": "agent.example",
        "host": "agent.example",
        "host_warning": "",
        "url": "https://agent.example/terms",
        "completion": "on_return",
    }
    return {**request_page(), "kind": "link", "kind_template": "connect/kinds/link.html", "what": what}


def outcome_page(status: str = "completed") -> Context:
    return {
        **everywhere(),
        "status": status,
        "agent_name": "Drive Bot",
        "error": {"code": "provider_error", "message": "Acme Drive did not accept the answer."},
        "connect_url": "/c/el_1",
        "return_url": "https://drive-bot.example/done",
        "outcome_templates": ["connect/kinds/oauth_outcome.html", "connect/_outcome.html"],
    }


def payment_outcome_page(status: str = "completed", mode: str = "pay") -> Context:
    asked = {"mode": mode, "amount": 1999, "currency": "eur", "description": "A report"}
    receipt = "https://pay.example/receipt" if status == "completed" else ""
    templates = ["connect/kinds/payment_outcome.html", "connect/_outcome.html"]
    return {**outcome_page(status), "asked": asked, "receipt_url": receipt, "outcome_templates": templates}


def a_connection(**more: Any) -> Context:
    return {
        "id": "cn_1",
        "provider_name": "Acme Drive",
        "account_label": "alice@acme.example",
        "agent_name": "Drive Bot",
        "scopes": ["files.read"],
        "scope_words": {},
        "typed": False,
        "own_client": False,
        "status": "active",
        "health": more.get("status", "ok"),
        "upstream": "none",
        "created_at": clock.now() - timedelta(days=3),
        "last_used_at": clock.now() - timedelta(hours=2),
        "revoked_at": None,
        **more,
    }


def account_page() -> Context:
    connection = a_connection()
    request = {
        "message": "Connect Acme Drive.",
        "agent_name": "Drive Bot",
        "url": "/c/el_1",
        "expires_at": clock.now() + timedelta(minutes=15),
    }
    stale = a_connection(id="cn_2", status="reauthorization_required", last_used_at=None)
    typed = a_connection(id="cn_4", provider_name="Acme's keys", account_label="", typed=True, scopes=[])
    agents = [
        {"name": "Drive Bot", "slug": "drive-bot", "connections": [connection, stale]},
        {"name": "Key Bot", "slug": "key-bot", "connections": [typed | {"agent_name": "Key Bot"}]},
    ]
    ended = [a_connection(id="cn_3", status="revoked", upstream="pending", revoked_at=clock.now())]
    mine = {"waiting": [request], "agents": agents, "ended": ended, "payments": payments(), "erasing": None}
    return {**everywhere(), "me": {"label": "alice"}, **mine}


USES = [
    ("connected", "person"), ("fetched", "agent"), ("opened", "agent"), ("refreshed", "service"),
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


def connection_page(**more: Any) -> Context:
    return {**everywhere(), "status": "active", "connection": a_connection(**more), "days": [uses(USES[1])]}


def ended_page(upstream: str = "pending") -> Context:
    ended = connection_page(status="revoked", upstream=upstream, revoked_at=clock.now())
    return {**ended, "status": "revoked", "days": []}


def delete_page(**more: Any) -> Context:
    counts = {"connections": 1, "elicitations": 2, "payments": 3}
    running = [
        {"description": "The paper", "status": status, "agent": {"name": "Shop Bot"}}
        for status in ("active", "processing")
    ]
    return {**everywhere(), "me": {"label": "alice"}, "counts": counts, "running": running, **more}


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
    }
    return [
        paid,
        {**paid, "description": "Half of it", "amount_refunded": 61700, "dispute": "open"},
        {**paid, "description": "All of it", "amount_refunded": 123450, "status": "refunded"},
        {**paid, "description": "By bank", "status": "processing", "receipt_url": ""},
        {**paid, "description": "A card", "status": "saved", "mode": "save", "amount": 0, "receipt_url": ""},
        {**paid, "description": "The paper", "status": "active", "mode": "subscribe", "currency": "jpy"},
        {**paid, "description": "Odd", "status": "mismatch", "livemode": False, "receipt_url": ""},
    ]


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
    page = {"title": "Too many requests", "detail": "Wait a minute.", "http_status": 429}
    return {**everywhere(), **page, "back_url": "/", "back_label": "Back"}


def steps() -> list[Context]:
    return [
        {"title": "Acme Drive", "done": True, "here": False},
        {"title": "Quarterly report", "done": False, "here": True},
        {"title": "Questions", "done": False, "here": False},
    ]


CHOICES = [{"slug": "corp", "label": "Corp"}, {"slug": "lab", "label": "Lab"}]


def catalogue_page() -> Context:
    entry = {"slug": "acme", "name": "Acme Drive", "kind": "OAuth", "checked": "library", "level": "Libraries agree"}
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
        "levels": [("library", "Libraries agree")],
        "total": 2,
        "entries": [{**entry, **more}],
    }


def code_page() -> Context:
    return {**everywhere(), "typed": "WDJB", "unknown": True}


PAGES: dict[str, tuple[str, str, Callable[[], Context]]] = {
    "sign-in": ("connect/signin.html", "signin", request_page),
    "sign-in with a choice": ("connect/signin.html", "signin", lambda: {**request_page(), "choices": CHOICES}),
    "consent": ("connect/consent.html", "consent", request_page),
    "consent, a step": ("connect/consent.html", "consent", lambda: {**request_page(), "steps": steps()}),
    "consent by a code": ("connect/consent.html", "consent", device_page),
    "code to type": ("connect/device.html", "device", code_to_type),
    "confirm": ("connect/form.html", "form", confirm_page),
    "confirm, a step": ("connect/form.html", "form", lambda: confirm_page(steps=steps())),
    "confirm, refused": ("connect/form.html", "form", lambda: confirm_page(faults={"typed": "Type Delete to go on."})),
    "credentials": ("connect/form.html", "form", credentials_page),
    "credentials of a provider": ("connect/form.html", "form", provider_page),
    "a client of one's own": ("connect/form.html", "form", tokens_page),
    "credentials of a provider that is off": ("connect/form.html", "form", provider_off),
    "credentials, refused": ("connect/form.html", "form", refused_credentials),
    "form": ("connect/form.html", "form", form_page),
    "form, own answers": ("connect/form.html", "form", lambda: form_page({"questions": OWN_ANSWERS})),
    "form, refused": ("connect/form.html", "form", wrong_form_page),
    "link": ("connect/consent.html", "consent", link_page),
    "another account": ("connect/changed.html", "account_changed", changed_page),
    "another account, a step": ("connect/changed.html", "account_changed", lambda: changed_page(steps=steps())),
    "own account": ("connect/yours.html", "account_yours", yours_page),
    "own account, unnamed": ("connect/yours.html", "account_yours", unnamed_page),
    "mismatch": ("connect/mismatch.html", "mismatch", request_page),
    **{
        f"done, {status}": ("connect/done.html", "done", lambda s=status: outcome_page(s))
        for status in map(str, Status)
    },
    "done, to start again": ("connect/done.html", "done", lambda: {**outcome_page("started"), "why": "It ran out."}),
    **{
        f"payment, {status}": ("connect/done.html", "done", lambda s=status: payment_outcome_page(s))
        for status in map(str, Status)
    },
    "refused": ("refused.html", "refused", refused_page),
    **{name: (name, "refused", dict) for name in BARE},
    "home": ("home.html", "home", everywhere),
    "code": ("code.html", "code", code_page),
    "catalogue": ("catalogue.html", "catalogue", catalogue_page),
    "account": ("account.html", "account", account_page),
    "account, empty": (
        "account.html",
        "account",
        lambda: account_page() | {"waiting": [], "agents": [], "ended": [], "payments": []},
    ),
    "connection": ("account/connection.html", "connection", connection_page),
    "connection, one's own client": (
        "account/connection.html",
        "connection",
        lambda: connection_page(account_label="", own_client=True),
    ),
    "connection, ended": ("account/connection.html", "connection", ended_page),
    "account, being deleted": (
        "account.html",
        "account",
        lambda: (
            account_page()
            | {"waiting": [], "agents": [], "ended": [], "payments": [], "erasing": {"asked_at": clock.now()}}
        ),
    ),
    "delete": ("account/delete.html", "delete", delete_page),
    "deleted": ("account/deleted.html", "deleted", everywhere),
    "docs": ("api/docs.html", "docs", docs_page),
}


def shown(name: str, **more: Any) -> Page:
    template, _, context = PAGES[name]
    return render(template, {**context(), **more})
