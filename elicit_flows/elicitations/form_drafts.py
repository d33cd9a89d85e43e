"""Drafts of forms: the answers that are not submitted yet, by question. Each change has a number.

The user's browsers write the draft. If the agent asked for a shared draft, which the page tells the user, the agent's
viewers read and write it too; otherwise only the user sees it. Every change locks the row of the elicitation, so all
readers see the same order. Readers ask for the changes after the last number that they have seen.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from django.db import transaction
from django.db.models import F, Max

from elicit_flows import events
from elicit_flows.domain.errors import (
    AlreadyOver,
    BadCallback,
    Conflict,
    DraftChanged,
    DraftNotShared,
    Invalid,
    NotFound,
    NotSubmitted,
    TooMany,
)
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Answer, Claim, Json
from elicit_flows.elicitations.transitions import current_step, find_for, move
from elicit_flows.kinds.form import drafts, params, secret_detection
from elicit_flows.kinds.form.fields import Field, Questions
from elicit_flows.lib import clock, rate_limits, text
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Draft, Elicitation

PERSON, AGENT = "person", "agent"
_PAGE_LENGTH = 32  # characters, see models.Draft.page
_FORM_ONLY = "Only an elicitation of kind form has a draft."
_NOT_SHARED = (
    "The user was not told that you see what they write. Create the form with params.shared true to share its draft, "
    "or wait for what they send."
)


def read_draft(whole: Elicitation, after_seq: int = 0) -> Json:
    """The shared draft as the API returns it: the ``answers`` that were changed after ``after_seq``, and in ``missing``
    the keys of the required questions without a submitted answer.

    If the elicitation has steps, it is the draft of the current one. Raises DraftNotShared, and Conflict if it is not
    a form.
    """
    row, questions = _shared(whole)
    found = rows_of(row)
    by_key = {one.question: one.answer for one in found}
    return {
        "object": "draft",
        "elicitation": whole.pk,
        "status": str(whole.status),
        "seq": whole.seq,
        "answers": {one.question: one.said() for one in found if one.seq > after_seq},
        "missing": drafts.unanswered(questions, by_key),
    }


def put_draft_answer(whole: Elicitation, question: str, answer: Json | None, seen: int | None = None) -> int:
    """Store the answer of one of the agent's viewers; None clears it. Returns the number of the change.

    ``seen`` is the last number that the viewer has seen. Raises DraftChanged if the answer was changed after it,
    NotFound, Invalid, Conflict, DraftNotShared, AlreadyOver, TooMany.
    """
    row, questions = _shared(whole)
    field = next((one for one in questions.fields if one.key == question), None)
    if field is None:
        raise NotFound("There is no question of that name in this form.")
    return write(row, field, None if answer is None else drafts.clean(field, answer), AGENT, seen)


def _shared(whole: Elicitation) -> tuple[Elicitation, Questions]:
    row = current_step(whole)
    questions = questions_of(row)
    if not params.is_shared(row.params):
        raise DraftNotShared(_NOT_SHARED)
    return row, questions


def write(row: Elicitation, field: Field, answer: Json | None, by: str, seen: int | None = None, page: str = "") -> int:
    """Store a checked answer to ``field``, and return the number of the change. ``page`` is the page that saves it.

    Raises Conflict if the questions were changed, DraftChanged, AlreadyOver, TooMany.
    """
    if not (rate_limits.DRAFT_CHANGES.hit(row.pk) and rate_limits.DRAFT_CHANGES_AN_HOUR.hit(row.pk)):
        raise TooMany("The draft is changed too often.", retry_after=5)
    with transaction.atomic():
        locked = _locked(row)
        if locked.params != row.params:
            raise Conflict("The questions were changed meanwhile. Look at them again.")
        former = Draft.objects.filter(elicitation=row, question=field.key).first()
        if answer == (former.answer if former else None):  # before "seen": a retry has not seen its own change
            return former.seq if former else _newest(locked)
        if seen is not None and former and former.seq > seen:
            raise DraftChanged(f"It was changed at seq {former.seq}, and you have seen {seen}. Look at it again.")
        shared = params.is_shared(locked.params)
        seq = _number(locked).seq if shared else _newest(locked) + 1
        Draft.objects.update_or_create(
            elicitation=row,
            question=field.key,
            defaults={"answer": answer, "seq": seq, "by": by, "page": page, "changed_at": clock.now()},
        )
        if shared:
            change = {"question": field.key, "answer": answer, "by": by}
            events.publish(locked.agent, "elicitation.draft", {**locked.head.reference(), "draft": change}, locked.head)
    return seq


def _newest(locked: Elicitation) -> int:
    """The number of the last change. A draft that is not shared has its own numbers, because the elicitation's ``seq``
    would tell the agent that somebody is writing.
    """
    if params.is_shared(locked.params):
        return locked.head.seq
    return Draft.objects.filter(elicitation=locked).aggregate(newest=Max("seq"))["newest"] or 0


def accept(row: Elicitation, given: Mapping[str, Json]) -> None:
    """Complete the form for the agent. ``given``: answers by question, which replace or join those that were submitted
    in a shared draft. Raises Invalid, Conflict, NotSubmitted, AlreadyOver.
    """
    fields = {field.key: field for field in questions_of(row).fields}
    said = {key: drafts.clean(_asked(fields, key), answer, ("answers", key)) for key, answer in given.items()}
    with transaction.atomic():
        locked = _locked(row)
        if locked.params != row.params:
            raise Conflict("The questions were changed meanwhile. Look at them again.")
        written = rows_of(row) if params.is_shared(locked.params) else []
        sent = drafts.total(questions_of(locked), {one.question: one.answer for one in written} | said)
        if sent.wrong:
            raise NotSubmitted(f"Not submitted yet, or not fitting: {', '.join(sent.wrong)}.")
        move(locked, Status.STARTED, only=[Status.PENDING])
        move(locked, Status.SETTLING, only=[Status.STARTED])
        move(locked, Status.COMPLETED, only=[Status.SETTLING], result=sent.result)


def _asked(fields: Mapping[str, Field], key: str) -> Field:
    if key not in fields:
        what = "There is no question of that name in this form."
        raise Invalid([{"loc": ["answers", key], "message": what}], what)
    return fields[key]


def ask_again(row: Elicitation, message: str | None, asked: Json | None) -> Elicitation:
    """Change the message or the questions of an open form. None leaves them as they are.

    Answers that still fit their questions are kept. Whether the draft is shared cannot change, as the user was told it.

    Raises Invalid, Conflict, AlreadyOver.
    """
    questions_of(row)  # raises Conflict for another kind
    shared = params.is_shared(row.params)
    if asked is not None and asked.get("shared") not in (None, shared):
        raise Invalid.at("params.shared", "This is set when the form is created, and cannot be changed.")
    given = None if asked is None else params.read({**asked, "shared": shared})
    with transaction.atomic():
        locked = _locked(row)
        kept, questions = given or (locked.params, questions_of(locked))
        said = locked.message if message is None else message
        secret_detection.check_message(questions, said)
        head = _number(locked, message=said, params=kept)
        fields = {field.key: field for field in questions.fields}
        # Delete the answers to removed questions. Clear those that no longer fit: readers see that as a change.
        seq = head.seq if shared else _newest(locked) + 1
        for one in rows_of(locked):
            field = fields.get(one.question)
            if field is None:
                one.delete()
            elif one.answer is not None and not drafts.kept(field, one.answer):
                one.answer, one.seq, one.by, one.changed_at = None, seq, AGENT, clock.now()
                one.save()
        events.publish(locked.agent, "elicitation.draft", head.reference(), locked)
    return locked


def questions_of(row: Elicitation) -> Questions:
    if row.kind != "form":
        raise Conflict(_FORM_ONLY)
    return params.known(row.params)


def rows_of(row: Elicitation) -> list[Draft]:
    return list(Draft.objects.filter(elicitation=row).order_by("seq"))


def _locked(row: Elicitation) -> Elicitation:
    """Lock the row for a change. Other changes wait for it. Raises AlreadyOver, Conflict."""
    locked = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=row.pk)
    if locked.over or locked.overdue:
        raise AlreadyOver(f"The elicitation is {Status.EXPIRED if locked.overdue else locked.status} already.")
    if locked.status == Status.SETTLING:
        raise Conflict("The answers are being sent.")
    return locked


def _number(locked: Elicitation, **fields: object) -> Elicitation:
    """Set ``fields`` on the row, and increment ``seq`` of the elicitation that the agent knows, which is returned."""
    head = locked.head
    if fields:
        Elicitation.objects.filter(pk=locked.pk).update(**fields)
    Elicitation.objects.filter(pk=head.pk).update(seq=F("seq") + 1)
    head.refresh_from_db(fields=["seq", *fields])
    return head


# Hidden fields of the page: the last number that it showed, a hash of its questions, and its own random name.
SEEN, ASKED, PAGE = "seen", "asked", "page"
_CHANGED = sentence("This was answered elsewhere meanwhile. Look at it, and send again.")
_ASKED_ANEW = sentence("The questions were changed meanwhile. Look at them, and send again.")


@dataclass(frozen=True, slots=True)
class PageDraft:
    """What a page shows of the draft: the ``controls`` by question, if they changed after the number it asked for.

    ``page`` is a new name for the page: what it saves itself was not written elsewhere.
    """

    seq: int
    asked: str
    controls: dict[str, drafts.Controls]
    page: str = dataclass_field(default_factory=lambda: secrets.token_urlsafe(16))


def page_draft(row: Elicitation, after_seq: int = 0, written_by: str = "") -> PageDraft | None:
    """The draft for the page, without what the page of the name ``written_by`` saved; None if it is not a form."""
    if row.kind != "form":
        return None
    seq = row.head.seq  # read before the answers are, so that none is missed
    fields = {field.key: field for field in questions_of(row).fields}
    found = rows_of(row)
    if not params.is_shared(row.params):
        seq = max((one.seq for one in found), default=0)
    newer = [one for one in found if _is_news(one, after_seq, written_by) and one.question in fields]
    shown: dict[str, drafts.Controls] = {}
    for one in newer:
        held = drafts.controls(fields[one.question], one.answer)
        if one.by != PERSON:  # the person's own text is shown as it is; that of others without invisible characters
            held = {name: [text.visible(value) for value in values] for name, values in held.items()}
        shown[fields[one.question].name] = held
    return PageDraft(seq, _asked_on_page(row), shown)


def _is_news(one: Draft, seen: int, page: str) -> bool:
    """Whether the answer was changed after ``seen``, and not by that page itself: it may not know yet that it has saved
    what the person wrote a moment ago, and what it sends now is newer.
    """
    return one.seq > seen and not (page and one.page == page)


def page_controls(row: Elicitation, answer: Answer) -> drafts.Controls:
    """The values of the page's controls: the draft, or after a refusal what was sent, except for newer answers."""
    seen = _seen(answer) if answer.one(ASKED) == _asked_on_page(row) else None
    newer = page_draft(row, seen or 0, answer.one(PAGE) or "")
    found = {name: held for one in (newer.controls if newer else {}).values() for name, held in one.items()}
    if seen is None:
        return found
    return {field.name: [] for field in questions_of(row).fields} | dict(answer.fields) | found


def save_page(elicitation_id: str, claim: Claim, name: str, answer: Answer) -> int:
    """Store what the right user has written in the page's field ``name``. Returns the number of the change.

    Raises NotFound, WrongUser, Over, Conflict, TooMany, BadCallback, and Invalid if it cannot be stored as it is.
    """
    row = find_for(elicitation_id, claim)
    field = next((one for one in questions_of(row).fields if one.name == name), None)
    if field is None or answer.one(ASKED) != _asked_on_page(row):
        raise BadCallback("This question is not asked any more. Open the link again.", elicitation=row.pk)
    return write(row, field, drafts.typed(field, answer), PERSON, page=(answer.one(PAGE) or "")[:_PAGE_LENGTH])


def check_asked(row: Elicitation, answer: Answer) -> None:
    """Check that the page showed the current questions. Raises Invalid if it did not, and BadCallback."""
    if row.kind != "form":
        return
    if _seen(answer) is None or answer.one(ASKED) is None:
        raise BadCallback("This is not what our page sends.", elicitation=row.pk)
    if answer.one(ASKED) != _asked_on_page(row):
        raise Invalid.beside({"": _ASKED_ANEW})


def check_unchanged(row: Elicitation, answer: Answer) -> None:
    """Check that no question or answer was changed since the page was shown, and lock the row, so that none is changed
    before the end of the transaction. Raises Invalid.
    """
    if row.kind != "form":
        return
    locked = Elicitation.objects.select_for_update().get(pk=row.pk)
    check_asked(locked, answer)
    fields = {field.key: field for field in questions_of(locked).fields}
    seen, page = _seen(answer) or 0, answer.one(PAGE) or ""
    newer = [one for one in rows_of(locked) if _is_news(one, seen, page) and one.question in fields]
    told = {}
    for one in newer:
        field = fields[one.question]
        sent = {name: answer.fields.get(name, []) for name in drafts.controls(field, None)}
        kept = one.answer and one.answer | ({"state": drafts.DRAFT} if "value" in one.answer else {})
        if drafts.typed(field, Answer(sent)) != kept:
            told[field.name] = _CHANGED
    if told:
        raise Invalid.beside(told)


def _seen(answer: Answer) -> int | None:
    said = answer.one(SEEN) or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _asked_on_page(row: Elicitation) -> str:
    """A hash of what is asked, to recognise answers to earlier questions."""
    said = json.dumps([row.message, row.params], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]
