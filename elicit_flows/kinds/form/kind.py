"""Questions on our page; the answers are the agent's."""

from __future__ import annotations

from typing import Any

from elicit_flows.errors import BadCallback, Invalid
from elicit_flows.kinds.form import answers, page, params
from elicit_flows.kinds.form.checking import check_content
from elicit_flows.values import Answer, Finish, Json, Leave, Visit


class Form:
    """Ask for what is no secret. The result is ``{content: {…}, skipped?: {…}}``, by properties or ids."""

    context: str | None = None
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        """``{schema, order}`` or ``{questions}``, without what is null. Raises Invalid."""
        return params.read(given)[0]

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, description, host, host_warning, fields}``; a field is what ``page.describe`` says."""
        questions = params.read(asked)[1]
        return {
            "title": questions.title or "Questions",
            "description": questions.description,
            "host": "",
            "host_warning": "",
            "fields": [page.describe(field) for field in questions.fields],
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Raises Invalid with all that is wrong, by names on the page; BadCallback for what the page never sends."""
        wrong = answers.read(params.read(visit.params)[1], answer).wrong
        if wrong:
            raise Invalid.beside(wrong)

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        questions = params.read(visit.params)[1]
        sent = answers.read(questions, answer)
        if sent.wrong or check_content(questions, sent.content):
            return Finish.failed("invalid_content", "The answers do not fit the questions.")
        return Finish("completed", result=sent.result)
