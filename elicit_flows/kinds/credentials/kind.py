"""Keys and passwords: what the agent needs and must not see typed. They go into the vault, and nowhere else."""

from __future__ import annotations

from typing import Any

from elicit_flows.errors import BadCallback, Invalid
from elicit_flows.kinds.credentials import params, sealing
from elicit_flows.values import Answer, Finish, Json, Leave, Secret, Visit

SEALED = "sealed"  # the one field of what was handed over sealed to the agent's own key
MAX_VALUE = 8192  # a private key in PEM has about 3,000 characters


class Credentials:
    """Hand over credentials. The result is ``{connection}``; the values are fetched through it, never told."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        return params.clean(given)

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, fields: [{name, label, secret, help}]}``."""
        title = ", ".join(field["label"] for field in asked["fields"])
        return {"title": title, "host": "", "host_warning": "", "fields": asked["fields"]}

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Every field has a value. Raises Invalid, which repeats none."""
        problems = [(field["name"], _problem(field, answer)) for field in visit.params["fields"]]
        errors: list[dict[str, object]] = [{"loc": [name], "message": problem} for name, problem in problems if problem]
        if errors:
            raise Invalid(errors)

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        named = {field["name"]: Secret(_typed(field, answer)) for field in visit.params["fields"]}
        key = visit.params["seal_to"]
        return Finish("completed", credentials={SEALED: sealing.seal(named, key)} if key else named)


def _typed(field: Json, answer: Answer) -> str:
    """What comes around a value when it is copied is not part of it."""
    return (answer.one(field["name"]) or "").strip()


def _problem(field: Json, answer: Answer) -> str:
    typed = _typed(field, answer)
    if not typed:
        return f"{field['label']} is missing."
    if len(typed) > MAX_VALUE:
        return f"{field['label']} may have {MAX_VALUE} characters."
    if "\0" in typed:
        return f"{field['label']} has a character that cannot be kept."
    return ""
