"""Yes or no. Only an explicit yes is one; what is dangerous needs a word typed."""

from __future__ import annotations

from typing import Any

from elicit_flows.errors import BadCallback, Invalid
from elicit_flows.kinds.params import fault, is_line, is_text, unknown
from elicit_flows.values import Answer, Finish, Json, Leave, Visit

MAX_DETAIL = 2000
MAX_LABEL = 40
WORD = "confirm"  # to be typed where the label is no single word that can be
_NAMES = ("detail", "danger", "confirm_label", "decline_label")


class Confirm:
    """Ask whether something may be done. The result is ``{confirmed: true}``; a no is a decline."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        """``{detail, danger, confirm_label, decline_label}``, None and False where left out. Raises Invalid."""
        asked = {name: given.get(name) for name in _NAMES}
        asked["danger"] = False if asked["danger"] is None else asked["danger"]
        faults = unknown(given, _NAMES)
        if asked["detail"] is not None and not is_text(asked["detail"], MAX_DETAIL):
            faults.append(fault("detail", f"Say in at most {MAX_DETAIL} characters what will happen, or leave it out."))
        if not isinstance(asked["danger"], bool):
            faults.append(fault("danger", "Say true or false."))
        for name in ("confirm_label", "decline_label"):
            if asked[name] is not None and not is_line(asked[name], MAX_LABEL):
                faults.append(fault(name, f"Give a button 1 to {MAX_LABEL} visible characters, or leave it out."))
        if faults:
            raise Invalid(faults)
        return asked

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, detail, danger, confirm_label, decline_label, word}``: ``word`` is what has to
        be typed before a dangerous yes.
        """
        return {
            "title": asked["confirm_label"] or "Confirm",
            "host": "",
            "host_warning": "",
            "word": _word(asked),
            **asked,
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Raises Invalid at ``typed`` when the word is not there, BadCallback for what the page does not send."""
        if answer.one("confirm") != "yes":
            raise BadCallback("This is neither a yes nor a no.")
        word = _word(visit.params)
        if word and (answer.one("typed") or "").strip().casefold() != word.casefold():
            raise Invalid.at("typed", f"Type {word} to go on.")

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        return Finish("completed", result={"confirmed": True})


def _word(asked: Json) -> str:
    if not asked["danger"]:
        return ""
    label = asked["confirm_label"] or WORD
    return label if label.isascii() and label.isalpha() else WORD
