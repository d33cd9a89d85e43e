"""One question of a chat, from its request to its completion: what the service knows, as AHP's actions, and back.

Two write here at once: the page in the user's browser and the chat's clients. One lock puts them in an order; what a
client did is remembered, so that it is not dispatched once more when the service tells of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

import httpx2

from elicit_flows.errors import Invalid
from elicit_flows.sdk.ahp import reading
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.outcomes import Declined, Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation, GivenAnswer
from elicit_flows.values import Json
from elicit_flows.wires import ahp, ahp_answers
from elicit_flows.wires.ahp_questions import questions_of
from elicit_flows.wires.reply import ACCEPT, DECLINE

Dispatch = Callable[[Json], object]

CONSENT = "Open the link: what is asked is done there, and this request is completed as soon as it is."


class Flow:
    """``asked`` is the elicitation as it was last seen."""

    def __init__(self, elicit: Elicit, asked: Elicitation, chat: str, dispatch: Dispatch) -> None:
        self.asked = asked
        self._elicit = elicit
        self._chat = chat
        self._dispatch = dispatch
        self._lock = asyncio.Lock()
        self._told: dict[str, Json] = {}  # by question, as every client has it
        self._first = ""  # who completed it, and how, for those who come later
        self._response: str | None = None  # by which a client completed it
        self._abandoned = False

    @property
    def _body(self) -> Json:
        return asdict(self.asked)

    @property
    def _questions(self) -> dict[str, Json]:
        return {one["id"]: one for one in questions_of(self._body)}

    # From the service to the clients.

    async def follow(self) -> Outcome:
        """Request it, keep its drafts in step, complete it. Raises ElicitError when the service is gone for good."""
        async with self._lock:
            await self._request()
        while not self.asked.over:
            found = await reading.next_change(self._elicit, self.asked)
            async with self._lock:
                await self._see(found)
        self._end()
        return Declined(self.asked) if self._response == DECLINE else outcome_of(self.asked)

    async def _request(self) -> None:
        """Asked again, it takes the place of what was asked before, with the answers that still hold."""
        answers = await reading.draft(self._elicit, self.asked) if self._questions else None
        request = ahp.request(self._body, answers)
        self._told = dict(request.get("answers", {}))
        self._dispatch({"type": "chat/inputRequested", "request": request})
        self._dispatch(ahp.input_needed(self._body, self._chat))

    async def _see(self, found: Elicitation) -> None:
        before, self.asked = self.asked, found
        if found.over or self._first:
            return
        if (found.message, found.params) != (before.message, before.params):
            await self._request()
        elif self._questions and found.seq > before.seq:
            changed = await reading.draft(self._elicit, found, before.seq)
            for question in self._questions.values():
                if question["id"] in changed:
                    self._tell(question, changed[question["id"]])

    def _tell(self, question: Json, answer: Json) -> None:
        action = ahp.answer_changed(self._body, question, answer)
        if action.get("answer") != self._told.get(question["id"]):
            self._remember(action)
            self._dispatch(action)

    def _remember(self, action: Json) -> None:
        if action.get("answer") is None:
            self._told.pop(action["questionId"], None)
        else:
            self._told[action["questionId"]] = action["answer"]

    def _end(self) -> None:
        """A turn that ended first keeps the request without a response (AHP 1.0, "Elicitation")."""
        if self._response is None and not self._abandoned:
            self._complete(ahp.completed(self._body))
        self._first = self._first or f"It is over: {self.asked.status}."
        if not self._abandoned:
            self._dispatch(ahp.input_needed_removed(self._body))

    def _complete(self, action: Json) -> None:
        """Completions lie on top of drafts, so a draft that was not sent is taken away first."""
        if action["response"] == ACCEPT:
            for key in self._told.keys() - action.get("answers", {}).keys():
                self._dispatch(ahp.answer_changed(self._body, {"id": key}, None))
        self._dispatch(action)

    # From a client to the service.

    async def change(self, action: Json) -> None:
        """A client's ``chat/inputAnswerChanged``. Raises Invalid, ElicitError."""
        async with self._lock:
            self._still_open()
            question = self._question(action.get("questionId"))
            said = action.get("answer")
            await self._write(question, None if said is None else ahp_answers.from_ahp(question, said))
            self._remember(action)

    async def complete(self, action: Json, client_id: str) -> None:
        """A client's ``chat/inputCompleted``. Raises Invalid, ElicitError.

        Answers that came with an accept stay as drafts where it is refused.
        """
        async with self._lock:
            self._still_open()
            response = ahp.reply(action).action
            if response == ACCEPT:
                await self._accept(action.get("answers") or {})
            else:
                await self._elicit.cancel(self.asked)
            self._response, self._first = response, f"It is over: {client_id} said {response} first."

    async def _accept(self, answers: Any) -> None:
        """Of a link, accept is consent to open it and nothing more: were it a completion, the real one came second."""
        if not self._questions:
            raise Invalid.at("response", CONSENT)
        if not isinstance(answers, dict):
            raise Invalid.at("answers", "Give the answers by question.")
        asked = {key: self._question(key) for key in answers}
        given = {key: ahp_answers.from_ahp(asked[key], said) for key, said in answers.items()}
        for key, answer in given.items():
            await self._write(asked[key], answer)
        await self._elicit.complete(self.asked)

    async def _write(self, question: Json, answer: Json | None) -> None:
        await self._elicit.answer(self.asked, question["id"], cast(GivenAnswer | None, answer))

    def _question(self, key: Any) -> Json:
        found = self._questions.get(key) if isinstance(key, str) else None
        if found is None:
            raise Invalid.at("questionId", "There is no such question in this request.")
        return found

    def _still_open(self) -> None:
        if self._first or self.asked.over:
            raise Invalid.at("requestId", self._first or f"It is over: {self.asked.status}.")

    # From the host.

    async def abandon(self) -> None:
        """The turn is over: take the question back. Raises ElicitError when the service cannot be told; once more is
        harmless.
        """
        async with self._lock:
            if self.asked.over or self._response:
                return
            if not self._abandoned:
                self._abandoned, self._first = True, "It is over: the turn that asked has ended."
                self._dispatch(ahp.input_needed_removed(self._body))
            try:
                await self._elicit.cancel(self.asked)
            except ElicitError as error:
                if error.status != httpx2.codes.CONFLICT:  # it has just ended otherwise, which is about to be read
                    raise
