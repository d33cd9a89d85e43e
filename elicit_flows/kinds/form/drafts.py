"""Answers before the form is sent: what one may be, what it shows on the page, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.answers import NO, OWN, OWN_TEXT, WHY, YES, ZONE, Sent, leave_out, reason_of, value_of
from elicit_flows.kinds.form.checking import check_one, missing, show
from elicit_flows.kinds.form.fields import Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_REASON, MAX_TEXT
from elicit_flows.kinds.params import is_line
from elicit_flows.values import Answer, Json

DRAFT, SUBMITTED, SKIPPED = "draft", "submitted", "skipped"
Drafts = Mapping[str, Json | None]  # by the questions' keys; None where somebody cleared one
Controls = dict[str, list[str]]  # what a page's controls hold, by their names


def clean(field: Field, given: Json) -> Json:
    """``{state, value}`` or ``{state: "skipped", reason?}``, checked. Raises Invalid at ``answer``."""
    state = given.get("state")
    if state == SKIPPED:
        return _skipped(field, given)
    if state not in (DRAFT, SUBMITTED):
        raise Invalid.at("answer.state", "Say draft, submitted or skipped.")
    _only(given, "value")
    said = fault(field, given.get("value"), submitted=state == SUBMITTED)
    if said:
        raise Invalid.at("answer.value", said)
    return {"state": state, "value": given["value"]}


def _skipped(field: Field, given: Json) -> Json:
    _only(given, "reason")
    reason = given.get("reason")
    if field.required:
        raise Invalid.at("answer.state", "This question has to be answered.")
    if reason is not None and not is_line(reason, MAX_REASON):
        raise Invalid.at("answer.reason", f"Say why in 1 to {MAX_REASON} visible characters on one line.")
    return {"state": SKIPPED} | ({"reason": reason} if reason else {})


def _only(given: Json, name: str) -> None:
    for other in given:
        if other not in ("state", name):
            raise Invalid.at(f"answer.{other}", f"An answer in this state has only {name}.")


def fault(field: Field, value: Any, *, submitted: bool) -> str:
    """What is wrong with a value. One that is being written has to be of the question's sort, and no more."""
    if submitted:
        return check_one(field, value)
    high = MAX_TEXT if field.sort == Sort.TEXT else None
    return check_one(replace(field, low=None, high=high, format="", pattern=""), value)


def typed(field: Field, answer: Answer) -> Json | None:
    """What a page's controls say to one question; None where they are empty. Raises Invalid, BadCallback."""
    value = value_of(field, answer)
    if value is not None:
        return clean(field, {"state": DRAFT, "value": value})
    reason = reason_of(field, answer)
    return {"state": SKIPPED, "reason": reason} if reason else None


def controls(field: Field, answer: Json | None) -> Controls:
    """What the page's controls of that question hold; each of them is named."""
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
    return {name: [value if isinstance(value, str) else show(value)]}


def total(questions: Questions, drafts: Drafts) -> Sent:
    """What the drafts come to when somebody accepts them now. Only what was submitted counts as answered."""
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


def kept(field: Field, answer: Json) -> bool:
    """Whether a draft outlives a change of its question: it is still of the question's sort."""
    if answer["state"] == SKIPPED:
        return not field.required
    return not fault(field, answer["value"], submitted=answer["state"] == SUBMITTED)
