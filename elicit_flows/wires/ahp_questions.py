"""A form's questions as AHP asks them (ChatInputQuestion), for both forms of params that kind ``form`` takes.

AHP has no patterns; the service checks the answer against them all the same.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.wires.forms import order_of

_NUMERIC = ("number", "integer")


def questions_of(body: Json) -> list[Json]:
    """The questions in order; empty if the elicitation is not a form."""
    params = body["params"]
    if body["kind"] != "form":
        return []
    if "questions" in params:
        return [dict(question) for question in params["questions"]]
    schema = params["schema"]
    required = schema.get("required") or []
    questions = []
    for key in order_of(params):
        rule = schema["properties"][key]
        # Title and message. AHP requires a message; a property may have neither.
        words = " ".join(key.replace("_", " ").split()) or key
        title = rule.get("title") or words[:1].upper() + words[1:]
        said = rule.get("description")
        asked: Json = {"id": key} | ({"title": title, "message": said} if said else {"message": title}) | _sort(rule)
        # A list that may be empty needs no answer.
        if key in required and (rule["type"] != "array" or rule.get("minItems")):
            asked["required"] = True
        questions.append(asked)
    return questions


def _sort(rule: Json) -> Json:
    sort, default = rule["type"], rule.get("default")
    if sort == "array":
        options = _options(rule["items"], default or [])
        return {"kind": "multi-select", "options": options} | _renamed(rule, min="minItems", max="maxItems")
    if "enum" in rule or "oneOf" in rule:
        return {"kind": "single-select", "options": _options(rule, [default])}
    if sort == "boolean":
        return {"kind": "boolean"} | _renamed(rule, defaultValue="default")
    if sort in _NUMERIC:
        return {"kind": sort} | _renamed(rule, min="minimum", max="maximum", defaultValue="default")
    return {"kind": "text"} | _renamed(rule, format="format", min="minLength", max="maxLength", defaultValue="default")


def _renamed(rule: Json, **names: str) -> Json:
    return {ours: rule[theirs] for ours, theirs in names.items() if rule.get(theirs) is not None}


def _options(rule: Json, chosen: list[Any]) -> list[Json]:
    """The options. AHP's selections have no default, so the default becomes the recommended option."""
    if "enum" in rule:
        names = rule.get("enumNames") or rule["enum"]
        found: list[Json] = [{"id": value, "label": name} for value, name in zip(rule["enum"], names, strict=True)]
    else:
        found = [
            {"id": one["const"], "label": one["title"]} | _renamed(one, description="description")
            for one in rule.get("oneOf") or rule["anyOf"]
        ]
    return [one | ({"recommended": True} if one["id"] in chosen else {}) for one in found]
