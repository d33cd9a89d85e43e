"""How many stars. An example of the smallest kind there can be."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.params import fault, is_line, unknown

STARS = ("1", "2", "3", "4", "5")


class Rating:
    """Ask for one to five stars. The result is ``{stars}``."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        faults = unknown(given, ("of",))
        if not is_line(given.get("of"), 100):
            faults.append(fault("of", "Say in 1 to 100 visible characters what is rated."))
        if faults:
            raise Invalid(faults)
        return {"of": given["of"]}

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, stars}``."""
        return {"title": asked["of"], "host": "", "host_warning": "", "stars": STARS}

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        if answer.one("stars") not in STARS:
            raise Invalid.beside({"stars": "Choose one to five stars."})

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        return Finish("completed", result={"stars": int(answer.one("stars") or 0)})
