"""A form's page in several windows: what it shows of the shared draft, and what it may send.

A page says which number and which questions it showed, so that an old or idle window overwrites nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from elicit_flows.errors import BadCallback, Invalid
from elicit_flows.flow.drafting import PERSON, questions_of, rows_of, write
from elicit_flows.flow.moving import mine
from elicit_flows.kinds.form import drafts
from elicit_flows.kinds.form.fields import Field
from elicit_flows.lib import text
from elicit_flows.models import Draft, Elicitation
from elicit_flows.values import Answer, Claim, Json

SEEN, ASKED = "seen", "asked"  # what a page says of itself: the number and the questions that it showed
_CHANGED = "This was answered elsewhere meanwhile. Look at it, and send again."
_ASKED_ANEW = "The questions were changed meanwhile. Look at them, and send again."


@dataclass(frozen=True, slots=True)
class Shared:
    """What a page shows of the draft: ``controls`` by question and name, of what is newer than it asked for."""

    seq: int
    asked: str
    controls: dict[str, drafts.Controls]


def shared(row: Elicitation, after_seq: int = 0) -> Shared | None:
    """The draft for the page; None for what is no form."""
    if row.kind != "form":
        return None
    seq = row.head.seq  # read before the answers are, so that none is missed
    fields = {field.key: field for field in questions_of(row).fields}
    newer = [one for one in rows_of(row) if one.seq > after_seq and one.question in fields]
    return Shared(seq, _asked(row), {fields[one.question].name: _controls(fields[one.question], one) for one in newer})


def _controls(field: Field, one: Draft) -> drafts.Controls:
    """What the person wrote is shown as it is; of others, what can be seen."""
    held = drafts.controls(field, one.answer)
    if one.by == PERSON:
        return held
    return {name: [text.visible(value) for value in values] for name, values in held.items()}


def filled(row: Elicitation, answer: Answer) -> drafts.Controls:
    """What the page's controls hold: the draft, or on a page that was refused what it sent, but for newer answers."""
    seen = _seen(answer) if answer.one(ASKED) == _asked(row) else None
    newer = shared(row, seen or 0)
    found = {name: held for one in (newer.controls if newer else {}).values() for name, held in one.items()}
    if seen is None:
        return found
    return {field.name: [] for field in questions_of(row).fields} | dict(answer.fields) | found


def save(elicitation_id: str, claim: Claim, name: str, answer: Answer) -> int:
    """Keep what the right user has written to the question of that name on the page; the number of the change.

    Raises NotFound, WrongUser, Over, Conflict, TooMany, BadCallback, and Invalid for what cannot be kept as it is.
    """
    row = mine(elicitation_id, claim)
    field = next((one for one in questions_of(row).fields if one.name == name), None)
    if field is None or answer.one(ASKED) != _asked(row):
        raise BadCallback("This question is not asked any more. Open the link again.", elicitation=row.pk)
    return write(row, field, drafts.typed(field, answer), PERSON)


def check_asked(row: Elicitation, answer: Answer) -> None:
    """A page answers what it showed. Raises Invalid when the questions are others now, BadCallback."""
    if row.kind != "form":
        return
    if _seen(answer) is None or answer.one(ASKED) is None:
        raise BadCallback("This is not what our page sends.", elicitation=row.pk)
    if answer.one(ASKED) != _asked(row):
        raise Invalid.beside({"": _ASKED_ANEW})


def check_unchanged(row: Elicitation, answer: Answer) -> None:
    """Nothing was asked or answered otherwise since the page was shown, and nothing will be until the transaction that
    takes the answer is over. Raises Invalid.
    """
    if row.kind != "form":
        return
    locked = Elicitation.objects.select_for_update().get(pk=row.pk)
    check_asked(locked, answer)
    fields = {field.key: field for field in questions_of(locked).fields}
    newer = [one for one in rows_of(locked) if one.seq > (_seen(answer) or 0) and one.question in fields]
    told = {fields[one.question].name: _CHANGED for one in newer if _differs(fields[one.question], one, answer)}
    if told:
        raise Invalid.beside(told)


def _seen(answer: Answer) -> int | None:
    said = answer.one(SEEN) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _differs(field: Field, one: Draft, answer: Answer) -> bool:
    sent = {name: answer.fields.get(name, []) for name in drafts.controls(field, None)}
    return drafts.typed(field, Answer(sent)) != _as_typed(one.answer)


def _as_typed(answer: Json | None) -> Json | None:
    return answer and answer | ({"state": drafts.DRAFT} if "value" in answer else {})


def _asked(row: Elicitation) -> str:
    """Names what is asked, so that an answer to other questions is told apart."""
    said = json.dumps([row.message, row.params], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]
