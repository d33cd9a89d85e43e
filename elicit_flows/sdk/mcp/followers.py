"""Tells clients of MCP 2025-11-25 that a question is over, also when the call that asked it has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.mcp.calls import GONE, Call
from elicit_flows.sdk.shapes import Elicitation

log = logging.getLogger(__name__)


class Follower:
    """Waits for the end of one elicitation on behalf of one session, for all of its calls."""

    def __init__(self, elicit: Elicit, call: Call, elicitation: Elicitation) -> None:
        self.call = call
        self.told = False
        self._attending = 0
        self.over = asyncio.ensure_future(elicit.wait(elicitation))

    @contextmanager
    def attended(self) -> Iterator[None]:
        """While a call is open, the notification is sent within it."""
        self._attending += 1
        try:
            yield
        finally:
            self._attending -= 1

    async def tell(self, elicitation: Elicitation, *, within: Call | None = None) -> None:
        """Send the notification once. If the client is gone, nothing is lost: it gets the outcome when it calls again.

        ``within``: a call that is still open, since the call that asked first may have ended.
        """
        if self.told:
            return
        self.told = True
        with suppress(*GONE):
            await (within or self.call).tell(elicitation, within=within is not None)

    async def tell_later(self) -> None:
        """Send the notification when the elicitation is over and no call is open to send it."""
        try:
            ended = await self.over
        except ElicitError as error:
            log.warning("the client is not notified of the end of an elicitation: %s", error)
            return
        if not self._attending:
            await self.tell(ended)


class Followers:
    """The followers of one server process, by elicitation and session."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Follower, asyncio.Task[None]]] = {}

    def follow(self, elicit: Elicit, call: Call, elicitation: Elicitation) -> Follower:
        """The follower for this session, which lives until the elicitation is over."""
        key = (elicitation.id, call.session_id)
        if key not in self._known:
            follower = Follower(elicit, call, elicitation)
            telling = asyncio.ensure_future(follower.tell_later())
            telling.add_done_callback(lambda _: self._known.pop(key, None))
            self._known[key] = follower, telling
        return self._known[key][0]
