"""Answers to a form of the double: what its user fills in, and what the agent hands in for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from elicit_flows.domain.errors import Invalid, NotSubmitted
from elicit_flows.domain.values import Json
from elicit_flows.kinds.form.fields import Field, Questions, Sort
from elicit_flows.kinds.form.params import known
from elicit_flows.kinds.form.validation import check_content, check_one
from elicit_flows.sdk.testing.user import Answer

SUBMITTED, SKIPPED = "submitted", "skipped"
STATES = ("draft", SUBMITTED, SKIPPED)


def filled_in(params: Json, answers: dict[str, Answer]) -> Json | None:
    """The form's result; None if something is wrong or missing. Raises AssertionError for what it does not ask."""
    questions = known(params)
    fields = {field.key: field for field in questions.fields}
    for name in answers:
        there(name, fields)
    given = {key: answers.get(key, field.default) for key, field in fields.items()}
    left = (None, "")
    content = _whole(questions, {key: _typed(fields[key], one) for key, one in given.items() if one not in left})
    return None if any(check_content(questions, content).values()) else {"content": content}


def handed_in(params: Json, answers: Json) -> Json:
    """The form's result, of the answers with which an agent completes it. Raises Invalid and NotSubmitted."""
    questions = known(params)
    fields = {field.key: field for field in questions.fields}
    for key, answer in answers.items():
        if key not in fields:
            raise _refused("There is no question of that name in this form.", key)
        _check(fields[key], answer)
    given = {key: one["value"] for key, one in answers.items() if one["state"] == SUBMITTED}
    content = _whole(questions, given)
    left = {field.key for field in questions.fields if field.required} - given.keys()
    if left or any(check_content(questions, content).values()):
        raise NotSubmitted(f"Not submitted yet, or not fitting: {', '.join(sorted(left))}.")
    reasons = {key: one["reason"] for key, one in answers.items() if one["state"] == SKIPPED and one.get("reason")}
    return {"content": content} | ({"skipped": reasons} if reasons else {})


def there(name: str, known: Iterable[str]) -> str:
    """``name``, if it is one of the ``known``. Raises AssertionError."""
    if name not in known:
        raise AssertionError(f"There is no {name!r} among {list(known)}")
    return name


def _check(field: Field, answer: Json) -> None:
    state = answer.get("state") if isinstance(answer, dict) else None
    if state not in STATES:
        raise _refused("Give draft, submitted or skipped.", field.key, "state")
    if state == SKIPPED and field.required:
        raise _refused("This question is required and cannot be skipped.", field.key, "state")
    if state == SUBMITTED and (said := check_one(field, answer.get("value"))):
        raise _refused(said, field.key, "value")


def _refused(message: str, *place: str) -> Invalid:
    return Invalid([{"loc": ["answers", *place], "message": message}], message)


def _whole(questions: Questions, content: Json) -> Json:
    """With the lists that are empty when nothing was chosen."""
    left = {one.key: list(one.vacant) for one in questions.fields if one.vacant is not None and one.key not in content}
    return content | left


def _typed(field: Field, answer: Any) -> Any:
    """The answer as the agent gets it, or as it is if it is none. Choices are given by their labels."""
    labels = {option.label: option.value for option in field.options}
    if field.sort is Sort.SINGLE:
        return labels[there(str(answer), labels)] if answer not in field.values else answer
    if field.sort is Sort.MANY:
        return [labels[there(one, labels)] for one in answer]
    if field.sort in (Sort.INTEGER, Sort.NUMBER):
        return _number(answer)
    return bool(answer) if field.sort is Sort.BOOLEAN else str(answer)


def _number(answer: Any) -> Any:
    for read in (int, float):
        try:
            return read(str(answer))
        except ValueError:
            continue
    return answer
