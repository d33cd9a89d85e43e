"""One invocation of an action: how much time it has left, and what can be said to the user in it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tesseron import ActionContext, ActionError, Capabilities, TesseronErrorCode
from tesseron.protocol import Methods

from elicit_flows.errors import Invalid
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Json
from elicit_flows.wires import tesseron
from elicit_flows.wires.reply import Reply

T = TypeVar("T")


class Pending(ActionError):
    """The action's time is up and the user is not through. ``elicitation`` stays open for the next call.

    An action that does not catch it tells the agent the link and to call again; ``data`` is ``{pending, url}``.
    """

    def __init__(self, elicitation: Elicitation) -> None:
        message = (
            f"waiting: The user has not done it yet. Their link is {elicitation.url} ; call this again when they have."
        )
        data: Json = {"pending": elicitation.id, "url": elicitation.url}
        super().__init__(TesseronErrorCode.HANDLER_ERROR, message, data)
        self.elicitation = elicitation


class Invocation:
    """``end``: when its answer has to be there, on the clock of ``time.monotonic``."""

    def __init__(self, ctx: ActionContext, end: float) -> None:
        self.ctx = ctx
        self._end = end

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - time.monotonic()

    @property
    def host(self) -> Capabilities:
        return self.ctx.agent_capabilities

    async def confirm(self, question: str) -> bool | None:
        """As ``ctx.confirm``, but None where the host cannot ask."""
        return await self._asked(lambda: self.ctx.confirm(question))

    async def prompt(self, params: Json) -> Reply | None:
        """The user's answer, None where the host cannot ask.

        Raises ActionError: as the gateway refuses, and for an answer that cannot be read.
        """
        return await self._asked(lambda: self._prompt(params))

    async def _prompt(self, params: Json) -> Reply:
        # The public ctx.elicit has one None for a decline, a cancel and an accept without a value.
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
        """A progress message: how it stands, and where the user can do it."""
        match seen.status:
            case Status.PENDING:
                message = f"{seen.message} Waiting for you at {seen.url}"
            case Status.SETTLING:
                message = "The answer is on its way."
            case _:
                message = "The page is open."
        await self.ctx.progress(message=message)
