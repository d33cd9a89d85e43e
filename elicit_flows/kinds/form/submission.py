"""Reads what the form page sent, by question, as typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from elicit_flows.domain.errors import BadCallback
from elicit_flows.domain.values import Answer, Json
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import NUMERIC, Field, Questions, Sort
from elicit_flows.kinds.form.limits import MAX_NUMBER, MAX_REASON
from elicit_flows.kinds.form.validation import check_one, missing, show
from elicit_flows.lib import locales
from elicit_flows.lib.sentences import Sentence
from elicit_flows.lib.text import bare

YES, NO = "yes", "no"
OWN = " own"  # the choice "write your own answer"; an option's value cannot begin with a space
OWN_TEXT = "-own"  # after a question's name: the control for that answer
ZONE = "-zone"  # after a question's name: the difference from UTC of a date and time
WHY = "-why"  # after a question's name: why it is not answered

_WHOLE = re.compile(r"[+-]?\d{1,20}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Sent:
    """The answers and the reasons for skipping, by the questions' keys; the mistakes, by names on the page."""

    content: Json = member(default_factory=dict)
    skipped: dict[str, str] = member(default_factory=dict)
    wrong: dict[str, str] = member(default_factory=dict)

    @property
    def result(self) -> Json:
        """The result for the agent. ``skipped`` is left out if it is empty."""
        return {"content": self.content} | ({"skipped": self.skipped} if self.skipped else {})


def read(questions: Questions, answer: Answer) -> Sent:
    """Read a whole page. Raises BadCallback for what our page never sends."""
    sent = Sent()
    for field in questions.fields:
        value = value_of(field, answer)
        said = check_one(field, value) if value is not None else (missing(field) if field.required else "")
        # 1.125 would be over a thousand to a reader in German.
        if isinstance(said, Sentence) and locales.may_be_grouped(bound := str(said.values.get("bound"))):
            said.values["bound"] = bound.replace(".", locales.decimal_mark())
        if said:
            sent.wrong[field.name] = said
        elif value is not None:
            sent.content[field.key] = value
        else:
            leave_out(field, sent, reason_of(field, answer))
    return sent


def leave_out(field: Field, sent: Sent, reason: str) -> None:
    """Record a question that was not answered."""
    if field.vacant is not None:
        sent.content[field.key] = list(field.vacant)
    if reason:
        sent.skipped[field.key] = reason


def reason_of(field: Field, answer: Answer) -> str:
    """Why the person skips the question; "" if they do not say."""
    return " ".join(_one(answer, field.name + WHY).split())[:MAX_REASON] if field.skippable else ""


def value_of(field: Field, answer: Answer) -> Any:
    """The typed value, None if nothing was answered. Text that is not valid for the type is returned as text."""
    if field.sort in (Sort.SINGLE, Sort.MANY):
        return _chosen(field, answer)
    sent = _one(answer, field.name)
    if field.format == "date-time":
        zone = _one(answer, field.name + ZONE).strip()
        return formats.join(bare(sent), zone) if bare(sent) else None
    if field.sort == Sort.TEXT:
        # The text with plain line ends. If it has a format, what copying adds around it is removed.
        text = sent.replace("\r\n", "\n").replace("\r", "\n")
        text = bare(text) if field.format else text
        return text if bare(text) else None
    sent = bare(sent)
    if field.sort in NUMERIC:
        return _number(field, sent) if sent else None
    return {YES: True, NO: False, "": None}.get(sent, sent)


def _one(answer: Answer, name: str) -> str:
    if answer.repeated(name):
        raise BadCallback("This is not what our page sends.")
    return answer.one(name) or ""


def _number(field: Field, sent: str) -> Any:
    sent, mark = locales.in_ascii(sent), locales.decimal_mark()
    if locales.may_be_grouped(sent):  # a thousand or one: the person is asked to write it again
        return sent
    if sent.count(mark) == 1 and "." not in sent:
        sent = sent.replace(mark, ".")
    if _WHOLE.fullmatch(sent) and abs(int(sent)) <= MAX_NUMBER:
        return int(sent)
    return float(sent) if field.sort == Sort.NUMBER and _NUMBER.fullmatch(sent) else sent


def to_type(number: float) -> str:
    """A number as the page's control for it holds it, which is read as the same number."""
    shown = show(number)
    return shown.replace(".", locales.decimal_mark()) if locales.may_be_grouped(shown) else shown


def _chosen(field: Field, answer: Answer) -> Any:
    """The selection; ``{value, freeformValues}`` if free-form input is allowed."""
    own = [text] if field.freeform and (text := bare(_one(answer, field.name + OWN_TEXT))) else []
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
