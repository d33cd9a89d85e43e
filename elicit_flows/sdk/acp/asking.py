"""One open question, from the request to the client to its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from elicit_flows.sdk.acp.errors import CannotAsk, UnknownAnswer
from elicit_flows.sdk.acp.peer import Peer
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.once import taken_back
from elicit_flows.sdk.outcomes import Cancelled, Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation, GivenAnswer
from elicit_flows.values import Json
from elicit_flows.wires.forms import submitted
from elicit_flows.wires.reply import ACCEPT, CANCEL, Reply


@dataclass(frozen=True, slots=True)
class Asking:
    """The service says how it ended; of the client only a no counts, and the content of a form.

    The service may say so before, with or after the client's accept, which is consent to open the link and no more.
    """

    elicit: Elicit
    peer: Peer
    asked: Elicitation
    scope: Json

    async def outcome(self) -> Outcome:
        """Raises CannotAsk, UnknownAnswer. A task that is cancelled takes the question back, unless the connection is
        gone: then it stays open for ``resume``.
        """
        try:
            return await self._race(self.peer.mode(self.asked))
        except CannotAsk:
            await self._drop()
            raise

    async def _race(self, mode: str) -> Outcome:
        reply = asyncio.create_task(self.peer.create(self.asked, mode, self.scope))
        over = asyncio.create_task(self.elicit.wait(self.asked))
        try:
            await asyncio.wait({reply, over}, return_when=asyncio.FIRST_COMPLETED)
            said = None if over.done() else reply.result()
            ended = await self._read(said, mode) if said else None
            if ended is not None:
                return ended
            ended = outcome_of(await over)
            if mode == "url":
                await self.peer.complete(self.asked)
        except asyncio.CancelledError:
            if mode == "form" or await self.peer.complete(self.asked):
                with suppress(ElicitError):
                    await self._drop()
            raise
        else:
            return ended
        finally:
            reply.cancel()
            over.cancel()
            await asyncio.gather(reply, over, return_exceptions=True)

    async def _read(self, said: Reply, mode: str) -> Outcome | None:
        """What the client's answer alone comes to; None for an accept of a link."""
        if not said.known:
            raise UnknownAnswer(said.action, self.asked)
        if said.action == ACCEPT:
            return outcome_of(await self._submitted(said.content or {})) if mode == "form" else None
        return await taken_back(self.elicit, self.asked, said.action)

    async def _submitted(self, content: Json) -> Elicitation:
        """The content of a form, checked by the service as if it had been typed on its page. Raises ElicitError."""
        for question, answer in submitted(content).items():
            await self.elicit.answer(self.asked, question, cast(GivenAnswer, answer))
        return await self.elicit.complete(self.asked)

    async def _drop(self) -> None:
        """Nobody will act on it; unless it had ended in another way, which ``resume`` then finds."""
        ended = await taken_back(self.elicit, self.asked, CANCEL)
        if isinstance(ended, Cancelled):
            await self.elicit.consume(ended.elicitation)
