"""Answers before the form is submitted: their check, how the page shows them, and the content that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Json
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_REASON, MAX_TEXT
from elicit_flows.kinds.form.submission import (
    NO,
    OWN,
    OWN_TEXT,
    WHY,
    YES,
    ZONE,
    Sent,
    leave_out,
    reason_of,
    to_type,
    value_of,
)
from elicit_flows.kinds.form.validation import check_one, missing
from elicit_flows.kinds.params import is_line

DRAFT, SUBMITTED, SKIPPED = "draft", "submitted", "skipped"
Drafts = Mapping[str, Json | None]  # by the questions' keys; None if the answer was cleared
Controls = dict[str, list[str]]  # the values of a page's controls, by their names


def clean(field: Field, given: Json, at: tuple[str, ...] = ("answer",)) -> Json:
    """``{state, value}`` or ``{state: "skipped", reason?}``, checked. Raises Invalid with places below ``at``."""
    state = given.get("state")
    if state not in (DRAFT, SUBMITTED, SKIPPED):
        raise _refused(at, "state", "Give draft, submitted or skipped.")
    name = "reason" if state == SKIPPED else "value"
    for other in given:
        if other not in ("state", name):
            raise _refused(at, other, f"An answer in this state has only {name}.")
    if state == SKIPPED:
        reason = given.get("reason")
        if field.required:
            raise _refused(at, "state", "This question is required and cannot be skipped.")
        if reason is not None and not is_line(reason, MAX_REASON):
            raise _refused(at, "reason", f"Say why in 1 to {MAX_REASON} visible characters on one line.")
        return {"state": SKIPPED} | ({"reason": reason} if reason else {})
    value = given.get("value")
    if field.sort == Sort.INTEGER and isinstance(value, float) and value.is_integer():
        value = int(value)  # 5.0 is an integer in JSON Schema, and some clients write it so
    said = fault(field, value, submitted=state == SUBMITTED)
    if said:
        raise _refused(at, "value", said)
    return {"state": state, "value": value}


def _refused(at: tuple[str, ...], name: str, message: str) -> Invalid:
    return Invalid([{"loc": [*at, name], "message": message}], message)


def fault(field: Field, value: Any, *, submitted: bool) -> str:
    """What is wrong with a value. While it is being written, only its type is checked."""
    if submitted:
        return check_one(field, value)
    high = MAX_TEXT if field.sort == Sort.TEXT else None
    return check_one(replace(field, low=None, high=high, format="", pattern=""), value)


def typed(field: Field, answer: Answer) -> Json | None:
    """The answer in a page's controls for one question; None if they are empty. Raises Invalid and BadCallback."""
    value = value_of(field, answer)
    if value is not None:
        return clean(field, {"state": DRAFT, "value": value})
    reason = reason_of(field, answer)
    return {"state": SKIPPED, "reason": reason} if reason else None


def controls(field: Field, answer: Json | None) -> Controls:
    """The values of the page's controls for that question; every control is named."""
    shown: Controls = {field.name: []}
    if field.format == "date-time":
        shown[field.name + ZONE] = []
    if field.freeform:
        shown[field.name + OWN_TEXT] = []
    if field.skippable:
        shown[field.name + WHY] = [answer["reason"]] if answer and answer.get("reason") else []
    if answer is None or "value" not in answer:
        return shown
    return shown | _shown(field, answer["value"])


def _shown(field: Field, value: Any) -> Controls:
    name = field.name
    if field.freeform:
        own, chosen = value["freeformValues"], value["value"]
        picked = chosen if isinstance(chosen, list) else [OWN] if own else [chosen]
        return {name: picked, name + OWN_TEXT: own}
    if field.format == "date-time":
        local, zone = formats.split(value)
        return {name: [local], name + ZONE: [zone]} if local else {name: [value]}
    if field.sort == Sort.BOOLEAN:
        return {name: [YES if value else NO]}
    if field.sort == Sort.MANY:
        return {name: value}
    return {name: [value if isinstance(value, str) else to_type(value)]}


def total(questions: Questions, drafts: Drafts) -> Sent:
    """The content, if the drafts were accepted now. Only submitted answers count."""
    sent = Sent()
    for field in questions.fields:
        answer = drafts.get(field.key) or {}
        if answer.get("state") == SUBMITTED:
            said = check_one(field, answer["value"])
            sent.content[field.key] = answer["value"]
        else:
            said = missing(field) if field.required else ""
            leave_out(field, sent, answer.get("reason", ""))
        if said:
            sent.wrong[field.key] = said
    return sent


def unanswered(questions: Questions, drafts: Drafts) -> list[str]:
    """The keys of the required questions without a submitted answer.

    Submitted answers were checked when they were written, and are not checked again for each read.
    """
    given = {key for key, answer in drafts.items() if answer and answer["state"] == SUBMITTED}
    return [field.key for field in questions.fields if field.required and field.key not in given]


def kept(field: Field, answer: Json) -> bool:
    """Whether a draft survives a change of its question, because it still has the question's type."""
    if answer["state"] == SKIPPED:
        return not field.required
    return not fault(field, answer["value"], submitted=answer["state"] == SUBMITTED)
