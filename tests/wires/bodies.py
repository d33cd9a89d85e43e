"""Elicitations as the API returns them, of every kind and status."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from elicit_flows.domain.status import ACTION, OPEN, TERMINAL, Status
from elicit_flows.domain.values import Json
from tests.kinds.form import asked, strategies
from tests.support.sweeps import pairs

URL = "https://flows.test/c/el_0123456789abcdef0123456789abcdef"
ID = URL.rpartition("/")[2]
SCHEMA: Json = {"schema": asked.SCHEMA, "order": asked.ORDER}
QUESTIONS: Json = {"questions": asked.QUESTIONS}
PLAIN: Json = {
    "schema": {
        "type": "object", "required": ["plan"],
        "properties": {"plan": {"type": "string", "enum": ["free", "pro"], "enumNames": ["Free", "Pro"]}},
    },
    "order": ["plan"],
}  # fmt: skip
PARAMS: dict[str, tuple[str, Json]] = {
    "oauth": ("oauth", {"provider": "drive", "scopes": ["files.read"]}),
    "payment": ("payment", {"amount": 500, "currency": "usd", "description": "Report"}),
    "credentials": ("credentials", {"fields": [{"name": "key", "label": "API key"}]}),
    "schema": ("form", SCHEMA),
    "questions": ("form", QUESTIONS),
    "confirm": ("confirm", {"danger": True}),
    "link": ("link", {"url": "https://terms.test/", "completion": "by_agent"}),
    "steps": ("steps", {"steps": [{"kind": "confirm", "params": {}, "message": "Sure?"}]}),
}
OPEN_ONES, OVER = sorted(OPEN), sorted(TERMINAL)
EVERY = pairs(list(PARAMS), sorted(Status))


def body(name: str = "oauth", status: str = "pending", **more: Any) -> Json:
    """The elicitation; ``name`` is its kind, or for a form its dialect."""
    kind, params = PARAMS[name]
    usual: Json = {
        "id": ID, "object": "elicitation", "kind": kind, "status": status, "action": ACTION.get(Status(status)),
        "url": URL, "message": "I need you for a moment.", "subject": {"iss": "https://idp.test", "sub": "alice"},
        "params": params, "result": None, "error": None, "reused": False, "seq": 1,
        "created_at": "2026-11-21T10:00:00Z", "expires_at": "2026-11-21T10:15:00Z", "finished_at": None,
        "consumed_at": None, "return_url": None, "metadata": {},
    }  # fmt: skip
    if status == Status.COMPLETED and kind == "form":
        usual["result"] = {"content": {}}
    return usual | more


def of_form(params: Json, **more: Any) -> Json:
    return body("schema", params=params, **more)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
FORMS = strategies.schemas().map(lambda schema: {"schema": schema, "order": list(schema["properties"])})
ANY_PARAMS = st.dictionaries(TEXTS, strategies.ANYTHING, max_size=4)
ANY_KIND = st.sampled_from(["oauth", "payment", "credentials", "confirm", "link", "steps"])
