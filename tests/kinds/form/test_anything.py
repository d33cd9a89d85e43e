"""Random forms from agents and random answers from browsers are accepted or refused, and never crash the service."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from elicit_flows import kinds
from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Finish, Json
from elicit_flows.kinds.form import params
from elicit_flows.kinds.form.fields import Field, Sort
from elicit_flows.kinds.form.validation import check_one
from tests.kinds.form.asked import QUESTIONS, visit
from tests.kinds.form.judge import fits
from tests.kinds.form.strategies import ANYTHING, BODIES, MEMBERS, PROPERTY, TYPED, schemas

pytestmark = pytest.mark.slow

KIND = kinds.get("form")


def clean(asked: Json) -> None:
    try:
        kept = KIND.clean(asked)
    except Invalid:
        return
    assert KIND.clean(kept) == kept
    json.dumps(KIND.describe(kept, None))


@given(ANYTHING, ANYTHING)
def test_t69_no_json_as_parameters_is_more_than_refused(schema: Any, questions: Any):
    clean({"schema": schema})
    clean({"questions": questions})
    clean({"schema": schema, "questions": questions, "order": questions})


@given(PROPERTY, st.dictionaries(st.sampled_from(MEMBERS), ANYTHING, min_size=1, max_size=2))
def test_t69_no_json_in_a_good_property_is_more_than_refused(good: Json, more: Json):
    clean({"schema": {"type": "object", "properties": {"x": good | more}}})
    clean({"questions": [{"id": "x", "kind": "text", "message": "What?", **more}]})


@given(schemas(), BODIES)
@settings(max_examples=300)
def test_whatever_is_sent_to_a_good_form_is_taken_or_refused_and_what_completes_is_valid(schema: Json, body: Any):
    asked = visit({"schema": schema})
    try:
        KIND.check_answer(asked, Answer(body))
    except (Invalid, BadCallback) as refused:
        event(type(refused).__name__)
        return
    outcome = KIND.resume(asked, Answer(body))
    assert isinstance(outcome, Finish)
    assert outcome.status == "completed"
    event(f"completed with {len(outcome.result['content'])}")  # type: ignore[index]
    assert json.loads(json.dumps(outcome.result)) == outcome.result
    assert fits(asked.params["schema"], outcome.result["content"])  # type: ignore[index]


@given(
    st.fixed_dictionaries(
        {"q0": st.just(["Atlas"]), "q3": st.just(["3"])},
        optional={
            f"q{place}{more}": st.lists(st.sampled_from([*TYPED, "node", "lint", "types", "r1", "s"]), max_size=2)
            for place in (1, 2, 4, 5, 6, 7, 8, 9)
            for more in ("", "-own")
        },
    )
)
def test_whatever_is_sent_to_questions_is_taken_or_refused(body: Any):
    asked = visit({"questions": QUESTIONS})
    try:
        KIND.check_answer(asked, Answer(body))
    except (Invalid, BadCallback):
        return
    outcome = KIND.resume(asked, Answer(body))
    assert isinstance(outcome, Finish)
    assert outcome.status == "completed"
    assert {"title", "count", "runtime"} <= set(outcome.result["content"])  # type: ignore[index]


@given(st.sampled_from(params.read({"questions": QUESTIONS})[1].fields), ANYTHING)
def test_any_value_for_one_question_is_right_or_wrong(field: Field, value: Any):
    """Like the values in drafts: typed, by an unknown person."""
    said = check_one(field, value)
    assert said == "" or said.endswith(".")
    if not said and field.sort == Sort.INTEGER:
        assert isinstance(value, int)
