"""Each feature of both dialects, with right and wrong answers."""

from __future__ import annotations

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Finish
from tests.kinds.form.asked import visit
from tests.kinds.form.features import FEATURES, Feature, sent
from tests.kinds.form.judge import fits

each_feature = pytest.mark.parametrize("feature", [one for _, one in FEATURES], ids=[name for name, _ in FEATURES])


@each_feature
def test_what_is_answered_well_comes_to_the_agent_with_its_type(feature: Feature):
    kind, asked = kinds.get("form"), visit(feature.params)
    for given, value in feature.taken:
        answer = Answer(sent(given))
        kind.check_answer(asked, answer)
        outcome = kind.resume(asked, answer)
        assert isinstance(outcome, Finish)
        assert outcome.status == "completed"
        assert outcome.result == {"content": {} if value is None else {"x": value}}, given
        assert repr(outcome.result["content"].get("x")) == repr(value), "3 is not 3.0"
        if "schema" in feature.params:
            assert fits(asked.params["schema"], outcome.result["content"])


@each_feature
def test_what_is_answered_badly_is_said_beside_the_question_and_never_completes(feature: Feature):
    kind, asked = kinds.get("form"), visit(feature.params)
    for given in feature.refused:
        with pytest.raises(Invalid) as refused:
            kind.check_answer(asked, Answer(sent(given)))
        assert list(refused.value.by_field()) == ["q0"], given
        assert refused.value.by_field()["q0"].endswith("."), given
        outcome = kind.resume(asked, Answer(sent(given)))
        assert isinstance(outcome, Finish)
        assert outcome.status == "failed"


def test_everything_that_is_wrong_is_said_at_once():
    both = {"schema": {"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "string", "format": "email"}, "c": {"type": "boolean"},
    }, "required": ["c"]}}  # fmt: skip
    with pytest.raises(Invalid) as refused:
        kinds.get("form").check_answer(visit(both), Answer({"q0": ["x"], "q1": ["y"]}))
    assert list(refused.value.by_field()) == ["q0", "q1", "q2"]


def test_questions_stand_in_the_order_that_the_agent_gave_them():
    schema = {"type": "object", "properties": {key: {"type": "boolean"} for key in ("zz", "b", "a")}}
    kind = kinds.get("form")
    kept = kind.clean({"schema": schema})
    assert kept["order"] == ["zz", "b", "a"]
    sorted_by_the_database = kept | {"schema": schema | {"properties": dict(sorted(schema["properties"].items()))}}
    assert [one["key"] for one in kind.describe(sorted_by_the_database, None)["fields"]] == ["zz", "b", "a"]
    assert [one["key"] for one in kind.describe({"schema": schema, "order": ["a", "zz", "b"]}, None)["fields"]] == [
        "a", "zz", "b",
    ]  # fmt: skip
