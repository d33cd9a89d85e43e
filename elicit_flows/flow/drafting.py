"""A form's shared draft: browsers and the agent's viewers write it question by question, each change with a number.

The row of the elicitation is locked for every change, so all of them see the same order; who reads later asks for what
is newer than the number that they have seen.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from elicit_flows import queue
from elicit_flows.errors import (
    AlreadyOver,
    BadCallback,
    Conflict,
    DraftChanged,
    Invalid,
    NotFound,
    NotSubmitted,
    TooMany,
)
from elicit_flows.flow.moving import current, mine, move
from elicit_flows.kinds.form import drafts, params
from elicit_flows.kinds.form.fields import Field, Questions
from elicit_flows.lib import clock, text
from elicit_flows.lib.limits import hit
from elicit_flows.models import Draft, Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Answer, Claim, Json

PERSON, AGENT = "person", "agent"
SEEN, ASKED = "seen", "asked"  # what a page says of itself: the number and the questions that it showed
CHANGES = 240  # a minute and elicitation; a page saves twice a second at most
_FORM_ONLY = "Only an elicitation of kind form has a draft."
_CHANGED = "This was answered elsewhere meanwhile. Look at it, and send again."
_ASKED_ANEW = "The questions were changed meanwhile. Look at them, and send again."


@dataclass(frozen=True, slots=True)
class Shared:
    """What a page shows of the draft: ``controls`` by question and name, of what is newer than it asked for."""

    seq: int
    asked: str
    controls: dict[str, drafts.Controls]


def draft(whole: Elicitation, after_seq: int = 0) -> Json:
    """The draft for the agent: ``answers`` that were changed after ``after_seq``, and what is ``missing``.

    Of an elicitation with steps, that of the current step. Raises Conflict for what is no form.
    """
    row = current(whole)
    questions = _questions(row)
    found = _rows(row)
    by_key = {one.question: one.answer for one in found}
    return {
        "object": "draft",
        "elicitation": whole.pk,
        "status": str(whole.status),
        "seq": whole.seq,
        "answers": {one.question: one.said() for one in found if one.seq > after_seq},
        "missing": list(drafts.total(questions, by_key).wrong),
    }


def shared(row: Elicitation, after_seq: int = 0) -> Shared | None:
    """The draft for the page; None for what is no form."""
    if row.kind != "form":
        return None
    seq = row.head.seq  # read before the answers are, so that none is missed
    fields = {field.key: field for field in _questions(row).fields}
    newer = [one for one in _rows(row) if one.seq > after_seq and one.question in fields]
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
    return {field.name: [] for field in _questions(row).fields} | dict(answer.fields) | found


def save(elicitation_id: str, claim: Claim, name: str, answer: Answer) -> int:
    """Keep what the right user has written to the question of that name on the page; the number of the change.

    Raises NotFound, WrongUser, Over, Conflict, TooMany, BadCallback, and Invalid for what cannot be kept as it is.
    """
    row = mine(elicitation_id, claim)
    field = next((one for one in _questions(row).fields if one.name == name), None)
    if field is None or answer.one(ASKED) != _asked(row):
        raise BadCallback("This question is not asked any more. Open the link again.", elicitation=row.pk)
    return _write(row, field, drafts.typed(field, answer), PERSON)


def put(whole: Elicitation, question: str, answer: Json | None, seen: int | None = None) -> int:
    """Write what one of the agent's viewers answered, None to clear it; the number of the change.

    ``seen`` is the last number that the viewer knows. Raises NotFound, Invalid, DraftChanged when somebody changed the
    answer after it, Conflict, AlreadyOver, TooMany.
    """
    row = current(whole)
    field = next((one for one in _questions(row).fields if one.key == question), None)
    if field is None:
        raise NotFound("There is no question of that name in this form.")
    return _write(row, field, None if answer is None else drafts.clean(field, answer), AGENT, seen)


def _write(row: Elicitation, field: Field, answer: Json | None, by: str, seen: int | None = None) -> int:
    if not hit(f"draft:{row.pk}", CHANGES, 60):
        raise TooMany("The draft is changed too often.", retry_after=5)
    with transaction.atomic():
        locked = _locked(row)
        former = Draft.objects.filter(elicitation=row, question=field.key).first()
        if seen is not None and former and former.seq > seen:
            raise DraftChanged(f"It was changed at seq {former.seq}, and you have seen {seen}. Look at it again.")
        if answer == (former.answer if former else None):
            return former.seq if former else locked.head.seq
        head = _number(locked)
        Draft.objects.update_or_create(
            elicitation=row,
            question=field.key,
            defaults={"answer": answer, "seq": head.seq, "by": by, "changed_at": clock.now()},
        )
        change = {"question": field.key, "answer": answer, "by": by}
        queue.publish(head.agent, "elicitation.draft", {**head.snapshot(), "draft": change}, head)
    return head.seq


def check_asked(row: Elicitation, answer: Answer) -> None:
    """A page answers what it showed. Raises Invalid when the questions are others now, BadCallback."""
    if row.kind != "form":
        return
    if _seen(answer) is None or answer.one(ASKED) is None:
        raise BadCallback("This is not what our page sends.", elicitation=row.pk)
    if answer.one(ASKED) != _asked(row):
        raise Invalid.beside({"": _ASKED_ANEW})


def check_unchanged(row: Elicitation, answer: Answer) -> None:
    """Nothing was answered otherwise elsewhere since the page was shown, and nothing will be until the transaction that
    takes the answer is over. Raises Invalid.
    """
    if row.kind != "form":
        return
    Elicitation.objects.select_for_update().get(pk=row.pk)
    fields = {field.key: field for field in _questions(row).fields}
    newer = [one for one in _rows(row) if one.seq > (_seen(answer) or 0)]
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


def accept(row: Elicitation) -> None:
    """The agent sends the draft as its viewers submitted it. Raises NotSubmitted, AlreadyOver."""
    questions = _questions(row)
    with transaction.atomic():
        locked = _locked(row)
        sent = drafts.total(questions, {one.question: one.answer for one in _rows(row)})
        if sent.wrong:
            raise NotSubmitted(f"Not submitted yet, or not fitting: {', '.join(sent.wrong)}.")
        move(locked, Status.STARTED, only=[Status.PENDING])
        move(locked, Status.SETTLING, only=[Status.STARTED])
        move(locked, Status.COMPLETED, only=[Status.SETTLING], result=sent.result)


def ask_again(row: Elicitation, message: str | None, asked: Json | None) -> Elicitation:
    """Change the words or the questions while it is open. Answers that still fit their questions are kept.

    Raises Invalid, Conflict, AlreadyOver.
    """
    _questions(row)
    kept, questions = params.read(asked) if asked is not None else (row.params, _questions(row))
    fields = {field.key: field for field in questions.fields}
    with transaction.atomic():
        locked = _locked(row)
        for one in _rows(row):
            if not drafts.kept(fields.get(one.question), one.answer):
                one.delete()
        _number(locked, message=row.message if message is None else message, params=kept)
        queue.publish(locked.agent, "elicitation.draft", locked.snapshot(), locked)
    return locked


def _questions(row: Elicitation) -> Questions:
    if row.kind != "form":
        raise Conflict(_FORM_ONLY)
    return params.read(row.params)[1]


def _asked(row: Elicitation) -> str:
    """Names what is asked, so that an answer to other questions is told apart."""
    said = json.dumps([row.message, row.params], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _rows(row: Elicitation) -> list[Draft]:
    return list(Draft.objects.filter(elicitation=row).order_by("seq"))


def _locked(row: Elicitation) -> Elicitation:
    """For a change; who else wants to change it waits. Raises AlreadyOver, Conflict."""
    locked = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=row.pk)
    if locked.over or locked.overdue:
        raise AlreadyOver(f"The elicitation is {Status.EXPIRED if locked.overdue else locked.status} already.")
    if locked.status == Status.SETTLING:
        raise Conflict("The answers are being sent.")
    return locked


def _number(locked: Elicitation, **fields: object) -> Elicitation:
    """Change the row, under the next number of the elicitation that the agent knows, which is returned."""
    head = locked.head
    if fields:
        Elicitation.objects.filter(pk=locked.pk).update(**fields)
    Elicitation.objects.filter(pk=head.pk).update(seq=F("seq") + 1)
    head.refresh_from_db(fields=["seq", *fields])
    return head
