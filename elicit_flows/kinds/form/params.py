"""The parameters of a form: one dialect or the other, checked and complete."""

from __future__ import annotations

from elicit_flows.errors import Invalid
from elicit_flows.kinds.form import questions, schema, secrecy
from elicit_flows.kinds.form.fields import Questions
from elicit_flows.kinds.form.limits import MAX_ALL_OPTIONS
from elicit_flows.kinds.form.reading import Faults, Path
from elicit_flows.values import Json

_NAMES = ("schema", "questions", "order")


def read(given: Json) -> tuple[Json, Questions]:
    """The parameters as they are kept, and what they ask. Raises Invalid."""
    faults = Faults()
    for name in given:
        if name not in _NAMES:
            faults.add([name], "There is no such parameter; use schema or questions.")
    kept, found = _dialect(given, faults)
    if sum(len(field.options) for field in found.fields) > MAX_ALL_OPTIONS:
        faults.add(["questions" if "questions" in kept else "schema"], f"All options may be {MAX_ALL_OPTIONS}.")
    _look_for_secrets(kept, found, faults)
    if faults.found:
        raise Invalid(faults.found)
    return kept, found


def _dialect(given: Json, faults: Faults) -> tuple[Json, Questions]:
    asked = [name for name in ("schema", "questions") if given.get(name) is not None]
    if len(asked) != 1:
        faults.add([asked[-1] if asked else "schema"], "Give either schema or questions.")
        return {}, Questions(())
    if asked == ["schema"]:
        kept, order, found = schema.read(given["schema"], given.get("order"), faults)
        return {"schema": kept, "order": order}, found
    if given.get("order") is not None:
        faults.add(["order"], "Leave it out: questions are in order.")
    listed, found = questions.read(given["questions"], faults)
    return {"questions": listed}, found


def _look_for_secrets(kept: Json, found: Questions, faults: Faults) -> None:
    for place, field in enumerate(found.fields):
        if secrecy.asks(field):
            path: Path = ["questions", place] if "questions" in kept else ["schema", "properties", field.key]
            faults.add(path, secrecy.ADVICE)
    for name, said in (("title", found.title), ("description", found.description)):
        if secrecy.speaks(said):
            faults.add(["schema", name], secrecy.ADVICE)
