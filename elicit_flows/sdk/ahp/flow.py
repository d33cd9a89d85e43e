"""One question of a chat, from its request to its completion: the service's state as AHP actions, and back.

The page in the user's browser and the chat's clients write at the same time. The service numbers the changes, and a
change that the clients know is not dispatched again. The lock keeps a client's action and its echo together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

import httpx2

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import POLL_SECONDS, Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.outcomes import Declined, Outcome, outcome_of
from elicit_flows.sdk.paths import elicitation_path
from elicit_flows.sdk.shapes import Elicitation, GivenAnswer
from elicit_flows.wires import ahp, ahp_answers
from elicit_flows.wires.ahp_questions import questions_of
from elicit_flows.wires.reply import ACCEPT, DECLINE

Dispatch = Callable[[Json], object]

CONSENT = "Open the link and answer there. This request is completed as soon as that is done."


class Flow:
    """One question in one chat. ``asked`` is the elicitation as it was last read."""

    def __init__(self, elicit: Elicit, asked: Elicitation, chat: str, dispatch: Dispatch) -> None:
        self.asked = asked
        self._elicit = elicit
        self._chat = chat
        self._dispatch = dispatch
        self._lock = asyncio.Lock()
        self._words: tuple[str, Json] | None = None  # message and params that the clients know
        self._told: dict[str, int] = {}  # by question: the number of the answer that the clients know
        self._answered: set[str] = set()  # questions for which the clients know an answer
        self._first = ""  # how the question ended in the chat, to reject later actions with
        self._response: str | None = None  # the response with which a client completed it
        self.abandoned = False

    @property
    def _body(self) -> Json:
        return asdict(self.asked)

    @property
    def _questions(self) -> dict[str, Json]:
        return {one["id"]: one for one in questions_of(self._body)}

    # From the service to the clients.

    async def follow(self) -> Outcome:
        """Request the input, pass on changes of the draft, complete it, and return the outcome.

        Raises ElicitError when the service stays unreachable for as long as the client's ``retry_for`` allows.
        """
        elicit, seq = self._elicit, 0
        while not self.asked.over:
            found, answers = await elicit._get(self.asked, POLL_SECONDS, seq, elicit._retry_for), dict[str, Any]()
            if not found.over and found.params.get("shared") and questions_of(asdict(found)):
                path = f"{elicitation_path(found)}/draft"
                draft = await elicit._transport.call("GET", path, retry_for=elicit._retry_for)
                if draft["seq"] != found.seq:  # it was changed meanwhile
                    seq = found.seq
                    continue
                answers = draft["answers"]
            async with self._lock:
                self.asked, seq = found, found.seq
                if not (found.over or self._first):
                    self._tell(answers)
        if self._words and not self.abandoned:
            self._end()
        return Declined(self.asked) if self._response == DECLINE else outcome_of(self.asked)

    @property
    def needs_input(self) -> bool:
        """Whether its request was dispatched and nobody has ended it, here or at the service."""
        return self._words is not None and not (self._first or self.asked.over)

    def _tell(self, answers: Json) -> None:
        words = (self.asked.message, self.asked.params)
        if words != self._words:
            # A changed question replaces the earlier request, with the answers that still hold.
            self._words = words
            request = ahp.request(self._body, answers if self._questions else None)
            self._told = {key: one["seq"] for key, one in answers.items()}
            self._answered = set(request.get("answers", {}))
            self._dispatch({"type": "chat/inputRequested", "request": request})
            self._dispatch(ahp.input_needed(self._body, self._chat))
        else:
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
            # Dispatch the completion. It is added to the drafts, so drafts that were not submitted are cleared first.
            action = ahp.completed(self._body)
            if action["response"] == ACCEPT:
                for key in sorted(self._answered - action.get("answers", {}).keys()):
                    self._dispatch(ahp.answer_changed(self._body, {"id": key}, None))
            self._dispatch(action)
        self._dispatch(ahp.input_needed_removed(self._body))

    # From a client to the service.

    async def change(self, action: Json) -> None:
        """Apply a client's ``chat/inputAnswerChanged``. Raises Invalid and ElicitError."""
        async with self._lock:
            self._still_open()
            question = self._question(action.get("questionId"))
            said = action.get("answer")
            seq = await self._write(question, None if said is None else ahp_answers.from_ahp(question, said))
            self._remember(action, seq)

    async def complete(self, action: Json, client_id: str) -> None:
        """Apply a client's ``chat/inputCompleted``. Raises Invalid and ElicitError.

        If an accept is refused, the answers that came with it stay as drafts.
        """
        async with self._lock:
            self._still_open()
            response = ahp.reply(action).action
            if response == ACCEPT:
                await self._accept(action.get("answers") or {})
            else:
                await self._elicit.cancel(self.asked)
            self._response, self._first = response, f"The request is over: {client_id} has sent {response}."

    async def _accept(self, answers: Any) -> None:
        """Submit a form. A link is not completed by an accept: that is consent to open it, and the completion comes
        later.
        """
        if not self._questions:
            raise Invalid.at("response", CONSENT)
        if not isinstance(answers, dict):
            raise Invalid.at("answers", "Give an object with an answer for each question.")
        asked = {key: self._question(key) for key in answers}
        given = {key: ahp_answers.from_ahp(asked[key], said) for key, said in answers.items()}
        if not self.asked.params.get("shared"):
            await self._elicit.complete(self.asked, cast(dict[str, GivenAnswer], given))
            return
        for key, answer in given.items():
            await self._write(asked[key], answer)
        await self._elicit.complete(self.asked)

    async def _write(self, question: Json, answer: Json | None) -> int:
        """Write one answer. Returns the number up to which the clients know it, without a later change by the page."""
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
            raise Invalid.at("requestId", self._first or f"The request is over: {self.asked.status}.")

    # From the host.

    async def abandon(self) -> None:
        """Cancel the question because the turn is over. As AHP requires, the request is left without a response.

        Raises ElicitError when the service cannot be told. Another call repeats it safely.
        """
        async with self._lock:
            if self.asked.over or self._response:
                return
            if not self.abandoned:
                self.abandoned, self._first = True, "The request is over: the turn that asked has ended."
                if self._words:
                    self._dispatch(ahp.input_needed_removed(self._body))
            for step in (self._elicit.cancel, self._elicit.consume):  # consumed too, so no later process resumes it
                try:
                    await step(self.asked)
                except ElicitError as error:
                    if error.status != httpx2.codes.CONFLICT:  # it has ended in another way, or is about to
                        raise
