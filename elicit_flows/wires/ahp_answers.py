"""One answer in AHP's form (ChatInputAnswer) and in the API's (``PUT /v1/elicitations/{id}/draft/{question}``).

AHP's ``{state, value: {kind, value, freeformValues?}}`` is the API's ``{state, value}``, in which the value of a
question with free-form input is ``{value, freeformValues}``. AHP's ``{state: "skipped", freeformValues?}`` is the API's
``{state, reason?}``.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.wires.forms import submitted

DRAFT, SUBMITTED, SKIPPED = "draft", "submitted", "skipped"
KINDS = {
    "text": "text", "number": "number", "integer": "number", "boolean": "boolean", "single-select": "selected",
    "multi-select": "selected-many",
}  # fmt: skip


def to_ahp(question: Json, answer: Json | None) -> Json | None:
    """The API's answer in AHP's form; None if there is none, or if it was cleared."""
    if answer is None or "state" not in answer:
        return None
    if answer["state"] == SKIPPED:
        reason = answer.get("reason")
        return {"state": SKIPPED} | ({"freeformValues": [reason]} if reason else {})
    value = {"kind": KINDS[question["kind"]], "value": answer["value"]}
    if question.get("allowFreeformInput"):
        # AHP requires a selection, so an answer in the user's own words goes with an empty one.
        chosen, own = answer["value"]["value"], answer["value"]["freeformValues"]
        value["value"] = chosen if chosen is not None else ""
        value |= {"freeformValues": own} if own else {}
    return {"state": answer["state"], "value": value}


def from_ahp(question: Json, answer: Any) -> Json:
    """AHP's answer in the API's form. Raises Invalid with a sentence that can be sent as ``rejectionReason``.

    Whether the value fits its question is checked by the service, not here.
    """
    state = answer.get("state") if isinstance(answer, dict) else None
    if state == SKIPPED:
        reason = " ".join(_texts(answer)).strip()
        return {"state": SKIPPED} | ({"reason": reason} if reason else {})
    if state not in (DRAFT, SUBMITTED):
        raise Invalid.at("answer.state", "Give draft, submitted or skipped.")
    value = answer.get("value")
    if not isinstance(value, dict) or "value" not in value:
        raise Invalid.at("answer.value", "Give a value: a draft or submitted answer needs one.")
    return {"state": state, "value": _given(question, value)}


def _given(question: Json, given: Json) -> Any:
    kind = KINDS[question["kind"]]
    if given.get("kind") != kind:
        raise Invalid.at("answer.value.kind", f"This question takes a value of kind {kind}.")
    value, own = given["value"], _texts(given)
    if question["kind"] == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if question.get("allowFreeformInput"):
        return {"value": value if value != "" else None, "freeformValues": own}
    if own:
        raise Invalid.at("answer.value.freeformValues", "Give only options of this question: it takes no other answer.")
    return value


def _texts(given: Json) -> list[str]:
    found = given.get("freeformValues") or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Invalid.at("answer.freeformValues", "Give a list of texts.")
    return found


def of_result(questions: list[Json], result: Json | None) -> dict[str, Json]:
    """The answers of a completed form by question, as final answers."""
    found = result or {}
    skipped: dict[str, Json] = {
        key: {"state": SKIPPED, "reason": reason} for key, reason in found.get("skipped", {}).items()
    }
    return of_draft(questions, skipped | submitted(found.get("content", {})))


def of_draft(questions: list[Json], answers: Json) -> dict[str, Json]:
    """The ``answers`` of ``GET /v1/elicitations/{id}/draft``, as the ``answers`` of a ChatInputRequest."""
    found = {one["id"]: to_ahp(one, answers.get(one["id"])) for one in questions}
    return {key: answer for key, answer in found.items() if answer is not None}
