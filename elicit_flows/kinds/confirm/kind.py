"""Yes or no. Only an explicit yes counts, and a dangerous action needs a typed word."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.confirm import params
from elicit_flows.lib import text
from elicit_flows.lib.sentences import sentence


class Confirm:
    """Ask whether something may be done. The result is ``{confirmed: true}``; a no is a decline."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        """``{detail, danger, confirm_label, decline_label}``; None or False for what was left out. Raises Invalid."""
        return params.clean(given)

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, detail, danger, confirm_label, decline_label, word}``.

        ``word`` has to be typed before a dangerous yes, in the page's language; "" if there is none.
        """
        return {
            "title": asked["confirm_label"] or sentence("Confirm"),
            "host": "",
            "host_warning": "",
            "word": _word(asked),
            **asked,
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Raises Invalid at ``typed`` if the word is missing, and BadCallback for what the page never sends."""
        if answer.one("confirm") != "yes":
            raise BadCallback("This is neither a yes nor a no.")
        word = _word(visit.params)
        if word and text.bare(answer.one("typed") or "").casefold() != word.casefold():
            raise Invalid.at("typed", sentence("Type %(word)s to confirm.", word=word))

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        return Finish("completed", result={"confirmed": True})


def _word(asked: Json) -> str:
    """The word to type. It is ours, because an agent that chose it could make it one letter."""
    # Translators: the word that has to be typed. One that the keyboards of the language type easily.
    return gettext("CONFIRM") if asked["danger"] else ""
