"""Tesseron 1.2: ``elicitation/request``, a question with a flat form. It can show a link only as text.

The caller adds ``jsonrpc``, ``id`` and, to the params, ``invocationId``.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires import reply as replies
from elicit_flows.wires.asked import open_only
from elicit_flows.wires.forms import schema_of, titled
from elicit_flows.wires.reply import ACCEPT, Reply

_PRIMITIVE = ("string", "number", "integer", "boolean")


def message(body: Json, form: bool = False) -> Json:
    """The prompt, as ``confirm`` sends it, or with ``form`` as ``elicit`` does. Raises Invalid and AlreadyOver."""
    open_only(body)
    return {"method": "elicitation/request", "params": form_params(body) if form else params(body)}


def params(body: Json) -> Json:
    """A yes-or-no question to open the link. A schema without properties makes a prompt without fields."""
    question = f"{body['message']}\n\nOpen this link, then accept: {body['url']}"
    return {"question": question, "schema": {"type": "object", "properties": {}, "required": []}}


def form_params(body: Json) -> Json:
    """The form's questions. Raises Invalid for what Tesseron cannot ask: a choice of several."""
    schema = titled(schema_of(body))
    for key, rule in schema["properties"].items():
        if rule["type"] not in _PRIMITIVE:
            raise Invalid.at("mode", f"Tesseron asks for one value at a time, and {key} is a list.")
    kept = {"type": "object", "properties": schema["properties"], "required": schema.get("required", [])}
    return {"question": body["message"], "schema": kept}


def reply(result: Any) -> Reply:
    """The reply in the result: ``{action, value?}``. Raises Invalid."""
    return replies.read(result, content="value")


def confirmed(result: Any) -> bool:
    """``confirm``'s reading of the result: only an explicit accept is a yes."""
    return isinstance(result, dict) and result.get("action") == ACCEPT
