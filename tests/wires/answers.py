"""Questions in AHP's dialect, each with a valid answer."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from elicit_flows.domain.values import Json
from tests.kinds.form.asked import QUESTIONS

LINES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
OWN = st.lists(LINES, max_size=1)


def values(question: Json) -> st.SearchStrategy[Any]:
    chosen = [option["id"] for option in question.get("options", [])]
    plain: dict[str, st.SearchStrategy[Any]] = {
        "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "number": st.integers(-99, 99) | st.floats(-99, 99),
        "integer": st.integers(-99, 99),
        "boolean": st.booleans(),
        "single-select": st.sampled_from(chosen or [""]),
        "multi-select": st.lists(st.sampled_from(chosen or [""]), unique=True),
    }
    found = plain[question["kind"]]
    if not question.get("allowFreeformInput"):
        return found
    if question["kind"] == "multi-select":
        return st.fixed_dictionaries({"value": found, "freeformValues": OWN})
    own = st.fixed_dictionaries({"value": st.none(), "freeformValues": OWN})
    return own | st.fixed_dictionaries({"value": found, "freeformValues": st.just([])})


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Json, Json]:
    """A question and one answer to it."""
    question = draw(st.sampled_from(QUESTIONS))
    state = draw(st.sampled_from(["draft", "submitted", "skipped"]))
    if state != "skipped":
        return question, {"state": state, "value": draw(values(question))}
    reason = draw(st.none() | LINES)
    return question, {"state": state} | ({"reason": reason} if reason else {})
