"""Reads the steps of an elicitation with several steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Question
from elicit_flows.kinds.params import Fault, fault, is_text, unknown

MOST = 10
MAX_MESSAGE = 2000
# A step may be done long before the last one, and what is reserved for a 402 has to be used within minutes.
ALONE = ("x402",)
_STEP = ("kind", "params", "message")


def read_steps(whole: Question) -> list[Question]:
    """One question for each step of ``{steps: [{kind, params, message?}]}``. Raises Invalid."""
    faults = list(unknown(whole.params, ("steps",)))
    steps = whole.params.get("steps")
    if not isinstance(steps, list) or not 2 <= len(steps) <= MOST:
        raise Invalid([*faults, fault("steps", f"Give a list of 2 to {MOST} steps.")])
    for place, step in enumerate(steps):
        faults += _faults(place, step)
    if faults:
        raise Invalid(faults)
    # A step is a question of its own. The return URL, the metadata and the Idempotency-Key belong to the whole.
    return [
        replace(
            whole,
            kind=step["kind"],
            params=step.get("params", {}),
            message=step.get("message") or whole.message,
            return_url=None,
            metadata={},
            idempotency_key=None,
            fingerprint="",
        )
        for step in steps
    ]


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
    if step.get("kind") in ALONE:
        yield fault([*at, "kind"], f"Kind {step['kind']} cannot be a step; ask for it alone.")
    if not isinstance(step.get("params", {}), dict):
        yield fault([*at, "params"], "Give an object.")
    if step.get("message") is not None and not is_text(step["message"], MAX_MESSAGE):
        yield fault([*at, "message"], f"Say why in 1 to {MAX_MESSAGE} characters, or leave it out.")


@contextmanager
def errors_of_step(place: int) -> Iterator[None]:
    """Within the block, the errors of a step get their location in the whole request."""
    try:
        yield
    except Invalid as refused:
        within = [{**one, "loc": ["params", "steps", place, *cast(list[object], one["loc"])]} for one in refused.errors]
        raise Invalid(within, refused.detail) from None
