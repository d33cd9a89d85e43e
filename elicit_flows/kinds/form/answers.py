"""Reads what a page of a form sent: by question, as typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from elicit_flows.errors import BadCallback
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.checking import check_one, missing
from elicit_flows.kinds.form.fields import NUMERIC, Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_NUMBER, MAX_REASON
from elicit_flows.values import Answer, Json

YES, NO = "yes", "no"
OWN = " own"  # the choice of an answer of one's own; no option's value begins with a blank
OWN_TEXT = "-own"  # after a question's name: the control for that answer
ZONE = "-zone"  # after a question's name: the difference from UTC of a date and time
WHY = "-why"  # after a question's name: why it is not answered

_WHOLE = re.compile(r"[+-]?\d{1,20}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Sent:
    """What was answered and why something was skipped, by the questions' keys; what is wrong, by names on the page."""

    content: Json = member(default_factory=dict)
    skipped: dict[str, str] = member(default_factory=dict)
    wrong: dict[str, str] = member(default_factory=dict)

    @property
    def result(self) -> Json:
        """As the agent gets it; ``skipped`` is left out where there is nothing to tell."""
        return {"content": self.content} | ({"skipped": self.skipped} if self.skipped else {})


def read(questions: Questions, answer: Answer) -> Sent:
    """A whole page. Raises BadCallback for what no page of ours sends."""
    sent = Sent()
    for field in questions.fields:
        value = value_of(field, answer)
        said = check_one(field, value) if value is not None else (missing(field) if field.required else "")
        if said:
            sent.wrong[field.name] = said
        elif value is not None:
            sent.content[field.key] = value
        else:
            leave_out(field, sent, reason_of(field, answer))
    return sent


def leave_out(field: Field, sent: Sent, reason: str) -> None:
    """Put down a question that is not answered."""
    if field.vacant is not None:
        sent.content[field.key] = list(field.vacant)
    if reason:
        sent.skipped[field.key] = reason


def reason_of(field: Field, answer: Answer) -> str:
    """Why somebody skips it; "" where they do not say."""
    return " ".join(_one(answer, field.name + WHY).split())[:MAX_REASON] if field.skippable else ""


def value_of(field: Field, answer: Answer) -> Any:
    """The typed value, None where nothing was answered. What is no value of its type stays the text it is."""
    if field.sort in (Sort.SINGLE, Sort.MANY):
        return _chosen(field, answer)
    sent = _one(answer, field.name)
    if field.format == "date-time":
        zone = _one(answer, field.name + ZONE).strip()
        return formats.join(sent.strip(), zone) if sent.strip() else None
    if field.sort == Sort.TEXT:
        return _text(field, sent)
    sent = sent.strip()
    if field.sort in NUMERIC:
        return _number(field, sent) if sent else None
    return {YES: True, NO: False, "": None}.get(sent, sent)


def _one(answer: Answer, name: str) -> str:
    if answer.repeated(name):
        raise BadCallback("This is not what our page sends.")
    return answer.one(name) or ""


def _text(field: Field, sent: str) -> str | None:
    """As it was written, with a browser's line ends made plain; blanks around a format are nobody's intention."""
    text = sent.replace("\r\n", "\n").replace("\r", "\n")
    text = text.strip() if field.format else text
    return text if text.strip() else None


def _number(field: Field, sent: str) -> Any:
    sent = sent.replace("\u2212", "-")
    if _WHOLE.fullmatch(sent) and abs(int(sent)) <= MAX_NUMBER:
        return int(sent)
    return float(sent) if field.sort == Sort.NUMBER and _NUMBER.fullmatch(sent) else sent


def _chosen(field: Field, answer: Answer) -> Any:
    """The selection; with free-form input ``{value, freeformValues}``."""
    own = [text] if field.freeform and (text := _one(answer, field.name + OWN_TEXT).strip()) else []
    if field.sort == Sort.MANY:
        picked = answer.fields.get(field.name, [])
        if len(picked) > len(field.options):
            raise BadCallback("This is not what our page sends.")
        if not field.freeform:
            return picked or None
        return {"value": picked, "freeformValues": own} if picked or own else None
    sent = _one(answer, field.name)
    if not field.freeform:
        return sent or None
    if sent == OWN:
        return {"value": None, "freeformValues": own or [""]}
    return {"value": sent or None, "freeformValues": own} if sent or own else None
