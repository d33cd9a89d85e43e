"""One invocation of an action: how much time it has left, and what it can show to the user."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tesseron import ActionContext, ActionError, Capabilities, TesseronErrorCode
from tesseron.protocol import Methods

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires import tesseron
from elicit_flows.wires.reply import Reply

T = TypeVar("T")


class Pending(ActionError):
    """The action's time is up and the user has not finished. ``elicitation`` stays open for the next call.

    If the action does not catch it, the agent gets the link and is told to call again; ``data`` is ``{pending, url}``.
    """

    def __init__(self, elicitation: Elicitation) -> None:
        message = (
            f"waiting: The user has not done it yet. Their link is {elicitation.url} ; call this again when they have."
        )
        data: Json = {"pending": elicitation.id, "url": elicitation.url}
        super().__init__(TesseronErrorCode.HANDLER_ERROR, message, data)
        self.elicitation = elicitation


class Invocation:
    """``end`` is the time of ``time.monotonic`` by which the action must answer."""

    def __init__(self, ctx: ActionContext, end: float) -> None:
        self.ctx = ctx
        self._end = end

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self._end - time.monotonic()

    @property
    def host(self) -> Capabilities:
        return self.ctx.agent_capabilities

    async def confirm(self, question: str) -> bool | None:
        """Like ``ctx.confirm``, but None if the host cannot ask."""
        return await self._asked(lambda: self.ctx.confirm(question))

    async def prompt(self, params: Json) -> Reply | None:
        """Return the user's answer, None if the host cannot ask.

        Raises ActionError when the gateway refuses, or when the answer cannot be read.
        """
        return await self._asked(lambda: self._prompt(params))

    async def _prompt(self, params: Json) -> Reply:
        # The public ctx.elicit returns None for a decline, a cancel and an accept without a value alike.
        answer = await self.ctx._call(Methods.ELICIT, {"invocationId": self.ctx.invocation_id, **params})
        try:
            return tesseron.reply(answer)
        except Invalid as error:
            raise ActionError.handler("The host's answer to the prompt cannot be read.") from error

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        if not self.host.elicitation:
            return None
        try:
            return await ask()
        except ActionError as refused:
            if refused.code is not TesseronErrorCode.ELICITATION_NOT_AVAILABLE:
                raise
            return None

    async def tell(self, seen: Elicitation) -> None:
        """Send a progress message: the current state, and where the user can answer."""
        match seen.status:
            case Status.PENDING:
                message = f"{seen.message} Waiting for you at {seen.url}"
            case Status.SETTLING:
                message = "The answer is on its way."
            case _:
                message = "The page is open."
        await self.ctx.progress(message=message)
