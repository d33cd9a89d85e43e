"""One open question of an ACP agent: the request to the client, the wait, and the outcome."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from elicit_flows.domain.values import Json
from elicit_flows.sdk.acp.peer import CannotAsk, Peer, UnknownAnswer
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.idempotency import handed_in, taken_back, withdraw
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.reply import ACCEPT, Reply


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the client and waits for the service, which says how the question ended.

    The client's accept of a link is only consent to open it, and may arrive before or after the service's answer, or
    not at all. What counts of the client's answers is a no, and the content of a form.
    """

    elicit: Elicit
    peer: Peer
    asked: Elicitation
    scope: Json

    async def outcome(self) -> Outcome:
        """Ask, wait, and return the outcome. Raises CannotAsk and UnknownAnswer.

        Cancelling the task cancels the question, unless the connection is gone: then the question stays open for
        ``resume``.
        """
        try:
            return await self._race(self.peer.mode(self.asked))
        except CannotAsk:
            await withdraw(self.elicit, [self.asked])
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
            # A form has no notification that could fail: whether the client is there says its own request.
            there = not self.peer.gone if mode == "form" else await self.peer.complete(self.asked)
            if there:
                with suppress(ElicitError):
                    await withdraw(self.elicit, [self.asked])
            raise
        else:
            return ended
        finally:
            reply.cancel()
            over.cancel()
            await asyncio.gather(reply, over, return_exceptions=True)

    async def _read(self, said: Reply, mode: str) -> Outcome | None:
        """The outcome that the client's answer alone decides; None for an accept of a link."""
        if not said.known:
            raise UnknownAnswer(said.action, self.asked)
        if said.action == ACCEPT:
            # Submit the content of a form. The service checks it as if it had been typed on its page.
            return await handed_in(self.elicit, self.asked, said.content) if mode == "form" else None
        return await taken_back(self.elicit, self.asked, said.action)
