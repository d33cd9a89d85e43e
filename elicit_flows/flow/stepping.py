"""Several things asked for at once: read from the parameters of the whole, one question for each step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from elicit_flows.errors import Invalid
from elicit_flows.kinds.params import Fault, fault, is_text, unknown
from elicit_flows.values import Question

MOST = 10
MAX_MESSAGE = 2000
_STEP = ("kind", "params", "message")


def read(whole: Question) -> list[Question]:
    """``{steps: [{kind, params, message?}]}`` as the questions that they are. Raises Invalid."""
    faults = list(unknown(whole.params, ("steps",)))
    steps = whole.params.get("steps")
    if not isinstance(steps, list) or not 2 <= len(steps) <= MOST:
        raise Invalid([*faults, fault("steps", f"Give a list of 2 to {MOST} steps.")])
    for place, step in enumerate(steps):
        faults += _faults(place, step)
    if faults:
        raise Invalid(faults)
    return [_question(whole, step) for step in steps]


def _faults(place: int, step: Any) -> Iterator[Fault]:
    at = ["steps", place]
    if not isinstance(step, dict):
        yield fault(at, "A step is an object with a kind and its params.")
        return
    for name in step:
        if name not in _STEP:
            yield fault([*at, name], f"There is no such key; use {', '.join(_STEP)}.")
    if not isinstance(step.get("kind"), str):
        yield fault([*at, "kind"], "Name the kind.")
    if not isinstance(step.get("params", {}), dict):
        yield fault([*at, "params"], "Give an object.")
    if step.get("message") is not None and not is_text(step["message"], MAX_MESSAGE):
        yield fault([*at, "message"], f"Say why in 1 to {MAX_MESSAGE} characters, or leave it out.")


def _question(whole: Question, step: dict[str, Any]) -> Question:
    """As if it were asked alone; what belongs to the whole is the whole's."""
    return replace(
        whole,
        kind=step["kind"],
        params=step.get("params", {}),
        message=step.get("message") or whole.message,
        return_url=None,
        metadata={},
        idempotency_key=None,
        fingerprint="",
    )


@contextmanager
def at(place: int) -> Iterator[None]:
    """Inside, what is wrong with a step is told at its place in the whole."""
    try:
        yield
    except Invalid as refused:
        within = [{**one, "loc": ["params", "steps", place, *cast(list[object], one["loc"])]} for one in refused.errors]
        raise Invalid(within, refused.detail) from None
