"""Kind form: questions on our own page, whose answers go to the agent."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.form import page, params, submission
from elicit_flows.kinds.form.validation import check_content
from elicit_flows.lib.sentences import sentence


class Form:
    """Ask for answers that are not secret. The result is ``{content: {…}, skipped?: {…}}``, by properties or ids."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        """``{schema, order, shared?}`` or ``{questions, shared?}``, without null members. Raises Invalid."""
        return params.read(given)[0]

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, description, host, host_warning, fields, shared}``; ``page.describe`` makes a field."""
        questions = params.known(asked)
        return {
            "title": questions.title or sentence("Questions"),
            "description": questions.description,
            "host": "",
            "host_warning": "",
            "fields": [page.describe(field) for field in questions.fields],
            "shared": params.is_shared(asked),
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Raises Invalid with all mistakes, by names on the page, and BadCallback for what the page never sends."""
        wrong = submission.read(params.known(visit.params), answer).wrong
        if wrong:
            raise Invalid.beside(wrong)

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        questions = params.known(visit.params)
        sent = submission.read(questions, answer)
        if sent.wrong or check_content(questions, sent.content):
            return Finish.failed("invalid_content", "The answers do not fit the questions.")
        return Finish("completed", result=sent.result)
