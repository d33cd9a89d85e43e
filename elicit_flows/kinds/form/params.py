"""The parameters of a form: a schema or a list of questions, checked and complete."""

from __future__ import annotations

import json
from functools import lru_cache

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import ahp_questions, json_schema, secret_detection
from elicit_flows.kinds.form.fields import Questions
from elicit_flows.kinds.form.limits import MAX_ALL_OPTIONS
from elicit_flows.kinds.form.object_reader import Faults, Path

_NAMES = ("schema", "questions", "order", "shared")


def read(given: Json) -> tuple[Json, Questions]:
    """The parameters as they are stored, and the questions. Raises Invalid."""
    faults = Faults()
    kept, found = _parsed(given, faults)
    for place, field in enumerate(found.fields):
        if secret_detection.asks(field):
            path: Path = ["questions", place] if "questions" in kept else ["schema", "properties", field.key]
            faults.add(path, secret_detection.ADVICE)
    if secret_detection.tells(found):
        faults.add(["questions" if "questions" in kept else "schema"], secret_detection.ADVICE)
    for name, said in (("title", found.title), ("description", found.description)):
        if secret_detection.speaks(said):
            faults.add(["schema", name], secret_detection.ADVICE)
    if faults.found:
        raise Invalid(faults.found)
    return kept, found


def known(kept: Json) -> Questions:
    """The questions of parameters that ``read`` returned.

    Cached, because a form that is being filled in needs them for each change, and fifty patterns take long to parse.
    """
    return _known(json.dumps(kept))


@lru_cache(maxsize=64)
def _known(kept: str) -> Questions:
    faults = Faults()
    found = _parsed(json.loads(kept), faults)[1]
    if faults.found:
        raise Invalid(faults.found)
    return found


def is_shared(kept: Json) -> bool:
    """Whether the agent sees answers while they are written. The agent asks for that at create, and the page
    says so.
    """
    return bool(kept.get("shared"))


def _parsed(given: Json, faults: Faults) -> tuple[Json, Questions]:
    for name in given:
        if name not in _NAMES:
            faults.add([name], "There is no such parameter; use schema or questions.")
    kept, found = _dialect(given, faults)
    if sum(len(field.options) for field in found.fields) > MAX_ALL_OPTIONS:
        faults.add(
            ["questions" if "questions" in kept else "schema"],
            f"Give at most {MAX_ALL_OPTIONS} options in all questions together.",
        )
    shared = given.get("shared")
    if shared is not None and not isinstance(shared, bool):
        faults.add(["shared"], "Say true or false, or leave it out.")
    return kept | ({"shared": True} if shared is True else {}), found


def _dialect(given: Json, faults: Faults) -> tuple[Json, Questions]:
    asked = [name for name in ("schema", "questions") if given.get(name) is not None]
    if len(asked) != 1:
        faults.add([asked[-1] if asked else "schema"], "Give either schema or questions.")
        return {}, Questions(())
    if asked == ["schema"]:
        kept, order, found = json_schema.read(given["schema"], given.get("order"), faults)
        return {"schema": kept, "order": order}, found
    if given.get("order") is not None:
        faults.add(["order"], "Leave it out: questions are asked in the order of the list.")
    listed, found = ahp_questions.read(given["questions"], faults)
    return {"questions": listed}, found
