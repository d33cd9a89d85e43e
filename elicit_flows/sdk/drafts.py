"""Drafts of shared forms: several people and the agent read and write the answers before they are submitted."""

from __future__ import annotations

from abc import ABC
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.sdk.paths import elicitation_path, question_path
from elicit_flows.sdk.shapes import Draft, Elicitation, GivenAnswer
from elicit_flows.sdk.transport import Transport


class Drafts(ABC):
    """Calls on an open form that was asked with ``shared``. ``complete`` submits it.

    Reading and writing raise ConflictError ``draft_not_shared`` for a form that is not shared.
    """

    _transport: Transport

    async def draft(self, elicitation: str | Elicitation, after_seq: int = 0) -> Draft:
        """Return the answers so far. With ``after_seq``, only those that changed after it."""
        params = {"after_seq": after_seq}
        return await self._transport.fetch(Draft.read, "GET", f"{elicitation_path(elicitation)}/draft", params=params)

    async def answer(
        self,
        elicitation: str | Elicitation,
        question: str,
        answer: GivenAnswer | None,
        seq: int | None = None,
    ) -> Draft:
        """Answer one question, or clear its answer with None. Everybody who has the form open sees it.

        ``seq`` is the last that you have seen; with it, ConflictError ``draft_changed`` is raised when the answer has
        changed since.
        """
        body: Json = {"answer": answer} if seq is None else {"answer": answer, "seq": seq}
        # A retry with the same ``seq`` would conflict with the change that the first attempt made.
        path, repeatable = question_path(elicitation, question), seq is None
        return await self._transport.fetch(Draft.read, "PUT", path, json=body, repeatable=repeatable)

    async def ask_again(
        self, elicitation: str | Elicitation, message: str | None = None, params: Json | None = None
    ) -> Elicitation:
        """Change the message or the questions under the same id and link. Answers that still fit are kept."""
        given: dict[str, Any] = {"message": message, "params": params}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.fetch(Elicitation.read, "PATCH", elicitation_path(elicitation), json=body)
