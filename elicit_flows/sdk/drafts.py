"""A form that several people fill in: what is answered so far, and what the agent's own viewers answer."""

from __future__ import annotations

from abc import ABC
from typing import Any

from elicit_flows.sdk.paths import elicitation_path, question_path
from elicit_flows.sdk.shapes import Draft, Elicitation, GivenAnswer
from elicit_flows.sdk.transport import Transport
from elicit_flows.values import Json


class Drafts(ABC):
    """The calls on a form that is open. ``complete`` sends what was submitted."""

    _transport: Transport

    async def draft(self, elicitation: str | Elicitation, after_seq: int = 0) -> Draft:
        """What is answered so far; with ``after_seq`` only what was changed after it."""
        params = {"after_seq": after_seq}
        return Draft.read(await self._transport.call("GET", f"{elicitation_path(elicitation)}/draft", params=params))

    async def answer(
        self,
        elicitation: str | Elicitation,
        question: str,
        answer: GivenAnswer | None,
        seq: int | None = None,
    ) -> Draft:
        """Answer one question, or clear its answer with None. Everybody who has the form open sees it.

        With ``seq``, the last that you have seen, ElicitError 409 ``draft_changed`` when the answer was changed after
        it.
        """
        body: Json = {"answer": answer} if seq is None else {"answer": answer, "seq": seq}
        return Draft.read(await self._transport.call("PUT", question_path(elicitation, question), json=body))

    async def ask_again(
        self, elicitation: str | Elicitation, message: str | None = None, params: Json | None = None
    ) -> Elicitation:
        """Ask in other words, or other questions, under the same id and link; answers that still fit are kept."""
        given: dict[str, Any] = {"message": message, "params": params}
        body = {name: value for name, value in given.items() if value is not None}
        return Elicitation.read(await self._transport.call("PATCH", elicitation_path(elicitation), json=body))
