"""Form mode: the questions go to the client, and the answers come back through it.

Only for kind ``form`` with a schema, which asks for no secrets (MCP 2025-11-25, client/elicitation, "Security
Considerations"). Everything else must not pass through the client, and is given as a link.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json

MOST = 2**32 - 1  # ACP's lengths are unsigned 32-bit numbers; no answer is that long
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


def schema_of(body: Json) -> Json:
    """The form's schema with the properties in the order in which they are asked. Raises Invalid if there is
    no schema.
    """
    params = body["params"]
    if body["kind"] != "form" or "schema" not in params:
        raise Invalid.at("mode", "Only an elicitation of kind form that has a schema can be given in form mode.")
    steps: dict[str, Callable[[Any], int]] = {"minimum": math.ceil, "maximum": math.floor, "default": int}
    properties = {}
    for key in order_of(params):
        rule = params["schema"]["properties"][key]
        # Whole numbers where they are meant: typed clients do not accept ``2.0`` there, nor ACP ``0.5``.
        kept: Json = {name: int(value) if name in _COUNTS else value for name, value in rule.items()}
        if rule["type"] == "integer":
            kept |= {name: step(rule[name]) for name, step in steps.items() if name in rule}
        properties[key] = kept
    return {**params["schema"], "properties": properties}


def order_of(params: Json) -> list[str]:
    """The names of the properties in the order in which they are asked."""
    return list(params.get("order") or params["schema"]["properties"])


def by_form(body: Json) -> Json:
    """Mode, schema and message under MCP's names. Raises Invalid."""
    return {"mode": "form", "message": body["message"], "requestedSchema": schema_of(body)}


def titled(schema: Json) -> Json:
    """The schema without ``enumNames``, which only MCP has, and with lengths that fit ACP."""
    properties = {}
    for key, rule in schema["properties"].items():
        kept: Json = {name: min(value, MOST) if name == "maxLength" else value for name, value in rule.items()}
        names = kept.pop("enumNames", None)
        if names is not None:
            pairs = zip(kept.pop("enum"), names, strict=True)
            kept["oneOf"] = [{"const": value, "title": name} for value, name in pairs]
        properties[key] = kept
    return {**schema, "properties": properties}


def submitted(content: Json) -> dict[str, Json]:
    """Content from a client as ``answers`` for ``POST /v1/elicitations/{id}/complete``, which checks them."""
    return {key: {"state": "submitted", "value": value} for key, value in content.items()}
