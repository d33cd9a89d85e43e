"""A form's shared draft: browsers and the agent's viewers write it question by question, each change with a number.

The row of the elicitation is locked for every change, so all of them see the same order; who reads later asks for what
is newer than the number that they have seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F

from elicit_flows import queue
from elicit_flows.errors import AlreadyOver, Conflict, DraftChanged, NotFound, NotSubmitted, TooMany
from elicit_flows.flow.moving import current, move
from elicit_flows.kinds.form import drafts, params
from elicit_flows.kinds.form.fields import Field, Questions
from elicit_flows.lib import clock
from elicit_flows.lib.limits import hit
from elicit_flows.models import Draft, Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Json

PERSON, AGENT = "person", "agent"
CHANGES = 240  # a minute and elicitation; a page saves twice a second at most
_FORM_ONLY = "Only an elicitation of kind form has a draft."


def draft(whole: Elicitation, after_seq: int = 0) -> Json:
    """The draft for the agent: ``answers`` that were changed after ``after_seq``, and what is ``missing``.

    Of an elicitation with steps, that of the current step. Raises Conflict for what is no form.
    """
    row = current(whole)
    questions = questions_of(row)
    found = rows_of(row)
    by_key = {one.question: one.answer for one in found}
    return {
        "object": "draft",
        "elicitation": whole.pk,
        "status": str(whole.status),
        "seq": whole.seq,
        "answers": {one.question: one.said() for one in found if one.seq > after_seq},
        "missing": list(drafts.total(questions, by_key).wrong),
    }


def put(whole: Elicitation, question: str, answer: Json | None, seen: int | None = None) -> int:
    """Write what one of the agent's viewers answered, None to clear it; the number of the change.

    ``seen`` is the last number that the viewer knows. Raises NotFound, Invalid, DraftChanged when somebody changed the
    answer after it, Conflict, AlreadyOver, TooMany.
    """
    row = current(whole)
    field = next((one for one in questions_of(row).fields if one.key == question), None)
    if field is None:
        raise NotFound("There is no question of that name in this form.")
    return write(row, field, None if answer is None else drafts.clean(field, answer), AGENT, seen)


def write(row: Elicitation, field: Field, answer: Json | None, by: str, seen: int | None = None) -> int:
    """Keep what was checked against ``field`` of ``row``, unless that is not asked any more."""
    if not hit(f"draft:{row.pk}", CHANGES, 60):
        raise TooMany("The draft is changed too often.", retry_after=5)
    with transaction.atomic():
        locked = _locked(row)
        if locked.params != row.params:
            raise Conflict("The questions were changed meanwhile. Look at them again.")
        former = Draft.objects.filter(elicitation=row, question=field.key).first()
        if answer == (former.answer if former else None):  # first: a retry has not seen what it did itself
            return former.seq if former else locked.head.seq
        if seen is not None and former and former.seq > seen:
            raise DraftChanged(f"It was changed at seq {former.seq}, and you have seen {seen}. Look at it again.")
        head = _number(locked)
        Draft.objects.update_or_create(
            elicitation=row,
            question=field.key,
            defaults={"answer": answer, "seq": head.seq, "by": by, "changed_at": clock.now()},
        )
        change = {"question": field.key, "answer": answer, "by": by}
        queue.publish(head.agent, "elicitation.draft", {**head.snapshot(), "draft": change}, head)
    return head.seq


def accept(row: Elicitation) -> None:
    """The agent sends the draft as its viewers submitted it. Raises NotSubmitted, AlreadyOver."""
    with transaction.atomic():
        locked = _locked(row)
        sent = drafts.total(questions_of(locked), {one.question: one.answer for one in rows_of(row)})
        if sent.wrong:
            raise NotSubmitted(f"Not submitted yet, or not fitting: {', '.join(sent.wrong)}.")
        move(locked, Status.STARTED, only=[Status.PENDING])
        move(locked, Status.SETTLING, only=[Status.STARTED])
        move(locked, Status.COMPLETED, only=[Status.SETTLING], result=sent.result)


def ask_again(row: Elicitation, message: str | None, asked: Json | None) -> Elicitation:
    """Change the words or the questions while it is open. Answers that still fit their questions are kept.

    Raises Invalid, Conflict, AlreadyOver.
    """
    former = questions_of(row)
    kept, questions = params.read(asked) if asked is not None else (row.params, former)
    fields = {field.key: field for field in questions.fields}
    with transaction.atomic():
        locked = _locked(row)
        _number(locked, message=locked.message if message is None else message, params=kept)
        _drop(locked, fields)
        queue.publish(locked.agent, "elicitation.draft", locked.snapshot(), locked)
    return locked


def _drop(locked: Elicitation, fields: Mapping[str, Field]) -> None:
    """Answers to questions that are gone, and those that do not fit any more, which is a change to hear of."""
    for one in rows_of(locked):
        field = fields.get(one.question)
        if field is None:
            one.delete()
        elif one.answer is not None and not drafts.kept(field, one.answer):
            one.answer, one.seq, one.by, one.changed_at = None, locked.seq, AGENT, clock.now()
            one.save()


def questions_of(row: Elicitation) -> Questions:
    if row.kind != "form":
        raise Conflict(_FORM_ONLY)
    return params.read(row.params)[1]


def rows_of(row: Elicitation) -> list[Draft]:
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
