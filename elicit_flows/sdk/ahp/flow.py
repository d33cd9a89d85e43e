"""One question of a chat, from its request to its completion: what the service knows, as AHP's actions, and back.

Two write here at once: the page in the user's browser and the chat's clients. The service numbers what they write, and
a number that the clients have is not told again; the lock keeps a client's action and its echo together.
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
        self._words: tuple[str, Json] | None = None  # which the clients have: message and params
        self._told: dict[str, int] = {}  # by question: the number of the answer that the clients have
        self._answered: set[str] = set()  # questions to which the clients have an answer
        self._first = ""  # who in the chat ended it, and how, for those who come later
        self._response: str | None = None  # by which a client completed it
        self.abandoned = False

    @property
    def _body(self) -> Json:
        return asdict(self.asked)

    @property
    def _questions(self) -> dict[str, Json]:
        return {one["id"]: one for one in questions_of(self._body)}

    # From the service to the clients.

    async def follow(self) -> Outcome:
        """Request it, keep its drafts in step, complete it. Raises ElicitError when the service is gone for good."""
        seq = 0
        while not self.asked.over:
            found, answers = await reading.change(self._elicit, self.asked, seq)
            async with self._lock:
                self.asked, seq = found, found.seq
                if not (found.over or self._first):
                    self._tell(answers)
        if self._words and not self.abandoned:
            self._end()
        return Declined(self.asked) if self._response == DECLINE else outcome_of(self.asked)

    def _tell(self, answers: Json) -> None:
        words = (self.asked.message, self.asked.params)
        if words != self._words:
            self._words = words
            self._request(answers)
        else:
            self._catch_up(answers)

    def _request(self, answers: Json) -> None:
        """Asked again, it takes the place of what was asked before, with the answers that still hold."""
        request = ahp.request(self._body, answers if self._questions else None)
        self._told = {key: one["seq"] for key, one in answers.items()}
        self._answered = set(request.get("answers", {}))
        self._dispatch({"type": "chat/inputRequested", "request": request})
        self._dispatch(ahp.input_needed(self._body, self._chat))

    def _catch_up(self, answers: Json) -> None:
        questions = self._questions
        for key, answer in answers.items():
            if answer["seq"] > self._told.get(key, 0):
                action = ahp.answer_changed(self._body, questions[key], answer)
                self._remember(action, answer["seq"])
                self._dispatch(action)

    def _remember(self, action: Json, seq: int) -> None:
        key = action["questionId"]
        self._told[key] = seq
        self._answered = self._answered | {key} if action.get("answer") else self._answered - {key}

    def _end(self) -> None:
        if self._response is None:
            self._complete(ahp.completed(self._body))
        self._dispatch(ahp.input_needed_removed(self._body))

    def _complete(self, action: Json) -> None:
        """Completions lie on top of drafts, so a draft that was not sent is taken away first."""
        if action["response"] == ACCEPT:
            for key in sorted(self._answered - action.get("answers", {}).keys()):
                self._dispatch(ahp.answer_changed(self._body, {"id": key}, None))
        self._dispatch(action)

    # From a client to the service.

    async def change(self, action: Json) -> None:
        """A client's ``chat/inputAnswerChanged``. Raises Invalid, ElicitError."""
        async with self._lock:
            self._still_open()
            question = self._question(action.get("questionId"))
            said = action.get("answer")
            seq = await self._write(question, None if said is None else ahp_answers.from_ahp(question, said))
            self._remember(action, seq)

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

    async def _write(self, question: Json, answer: Json | None) -> int:
        """The number up to which the clients know the answer. What the page wrote right after it they do not."""
        draft = await self._elicit.answer(self.asked, question["id"], cast(GivenAnswer | None, answer))
        kept = draft.answers.get(question["id"])
        if kept is None:
            return draft.seq
        return kept.seq if kept.by == "agent" else kept.seq - 1

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
        """The turn is over: take the question back, and leave the request without a response, as AHP has it.

        Raises ElicitError when the service cannot be told. Once more is harmless.
        """
        async with self._lock:
            if self.asked.over or self._response:
                return
            if not self.abandoned:
                self.abandoned, self._first = True, "It is over: the turn that asked has ended."
                self._dispatch(ahp.input_needed_removed(self._body))
            for step in (self._elicit.cancel, self._elicit.consume):  # no process after this one takes it up again
                try:
                    await step(self.asked)
                except ElicitError as error:
                    if error.status != httpx2.codes.CONFLICT:  # it has ended otherwise, or is about to
                        raise
