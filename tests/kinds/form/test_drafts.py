"""Drafts: which values are allowed, what the page shows, and what a change of the questions does to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Json
from elicit_flows.kinds.form import drafts, params
from elicit_flows.kinds.form.fields import Field
from tests.kinds.form.asked import QUESTIONS
from tests.kinds.form.strategies import ANYTHING, BODIES, schemas
from tests.support.examples import times

ANSWERS = ANYTHING | st.fixed_dictionaries(
    {"state": st.sampled_from(["draft", "submitted", "skipped", "x"])},
    optional={"value": ANYTHING | st.sampled_from(["a", 3, 2.5, True, ["a"], {"value": "node", "freeformValues": []}]),
              "reason": ANYTHING | st.just("No idea.")},
)  # fmt: skip


def fields_of(asked: Json) -> tuple[Field, ...]:
    return params.read(asked)[1].fields


ALL = fields_of({"questions": QUESTIONS})


def cleaned(field: Field, answer: Any) -> Json | None:
    """The draft, None where it is refused."""
    if not isinstance(answer, dict):
        return None
    try:
        return drafts.clean(field, answer)
    except Invalid:
        return None


def fits_the_page(field: Field, held: drafts.Controls) -> None:
    assert field.name in held
    assert all(name == field.name or name.startswith(f"{field.name}-") for name in held)
    assert all(isinstance(value, str) for values in held.values() for value in values)


@given(st.sampled_from(ALL), ANSWERS)
@times(4)
def test_t69_whatever_a_viewer_says_is_a_draft_that_a_page_can_show_or_is_refused(field: Field, answer: Any) -> None:
    kept = cleaned(field, answer)
    event("kept" if kept else "refused")
    if kept:
        assert json.loads(json.dumps(kept)) == kept
        assert cleaned(field, kept) == kept
        fits_the_page(field, drafts.controls(field, kept))
        drafts.kept(field, kept)


@pytest.mark.parametrize("state", ["draft", "submitted"])
def test_an_integer_may_be_written_with_a_zero_after_its_point(state: str) -> None:
    [field] = fields_of({"schema": {"type": "object", "properties": {"seats": {"type": "integer", "maximum": 9}}}})
    kept = cleaned(field, {"state": state, "value": 5.0})
    assert json.dumps(kept) == json.dumps({"state": state, "value": 5})
    for wrong in (5.5, 1e300, "5"):
        assert cleaned(field, {"state": state, "value": wrong}) is None


@given(schemas(), BODIES)
@example({"type": "object", "properties": {"f g": {"type": "string", "format": "date-time"}}}, {"q0": ["abc"]})
@times(3)
def test_what_one_page_writes_another_shows_and_would_write_again(schema: Json, body: Any) -> None:
    for field in fields_of({"schema": schema}):
        try:
            written = drafts.typed(field, Answer(body))
        except (Invalid, BadCallback):
            continue
        held = drafts.controls(field, written)
        fits_the_page(field, held)
        assert drafts.typed(field, Answer(held)) == written
        event("written" if written else "empty")


@pytest.mark.parametrize("field", ALL, ids=lambda field: field.key)
def test_a_cleared_answer_leaves_every_control_empty(field: Field) -> None:
    held = drafts.controls(field, None)
    fits_the_page(field, held)
    assert set(map(tuple, held.values())) == {()}


def test_a_draft_has_to_be_of_its_sort_and_what_is_submitted_fits() -> None:
    asked = {"questions": [{"id": "n", "kind": "integer", "message": "?", "min": 1, "max": 9, "required": True}]}
    [field] = fields_of(asked)
    assert drafts.fault(field, 12, submitted=False) == ""
    assert drafts.fault(field, 12, submitted=True) == "Write a number that is at most 9."
    assert drafts.fault(field, "3", submitted=False) != ""
    questions = params.read(asked)[1]
    for answer, said in (
        (None, "Answer this question."),
        ({"state": "draft", "value": 3}, "Answer this question."),
        ({"state": "submitted", "value": 3}, ""),
    ):
        assert drafts.total(questions, {"n": answer}).wrong.get("n", "") == said


@pytest.mark.parametrize(
    ("change", "stays"), [({}, True), ({"max": 2}, True), ({"kind": "text"}, False), ({"kind": "boolean"}, False)]
)
def test_an_answer_outlives_a_change_of_its_question_while_it_is_of_its_sort(change: Json, stays: bool) -> None:
    before = {"id": "n", "kind": "integer", "message": "?"}
    [field] = fields_of({"questions": [{**before, **change}]})
    assert drafts.kept(field, {"state": "draft", "value": 3}) is stays
