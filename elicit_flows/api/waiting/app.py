"""The ASGI application of the waiting plane: who asks, may they wait, and for what."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs

from django.conf import settings
from django.db import DatabaseError

from elicit_flows.api import problems
from elicit_flows.api.auth import authenticate
from elicit_flows.api.waiting import events, longpoll
from elicit_flows.api.waiting.admission import Admission
from elicit_flows.api.waiting.hub import Hub
from elicit_flows.errors import FlowError, Unavailable
from elicit_flows.lib.pooled import Message, Receive, Scope, Send, respond
from elicit_flows.models import Agent

log = logging.getLogger(__name__)
ELICITATIONS = "/v1/elicitations/"
EVENTS = "/v1/events"


class Sender:
    """Remembers whether the answer has begun: from then on it can only be ended."""

    def __init__(self, send: Send) -> None:
        self._send, self._begun = send, False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        await self._send(message)

    async def give_up(self, error: FlowError) -> None:
        if self._begun:
            await self._send({"type": "http.response.body", "body": b""})
        else:
            await respond(self._send, *problems.raw(error))


class Waiting:
    """Answers what waits. ``hub`` is made when the server starts, on its loop."""

    def __init__(self) -> None:
        self.hub: Hub | None = None
        self.admission = Admission(settings.ELICIT_MAX_WAITERS, settings.ELICIT_MAX_WAITERS_PER_AGENT)

    def wants(self, scope: Scope) -> bool:
        """Whether this request is one that may wait."""
        path: str = scope["path"]
        if scope["method"] != "GET":
            return False
        waits = any(part.startswith(b"wait=") for part in scope["query_string"].split(b"&"))
        if path == EVENTS:
            return waits or b"text/event-stream" in header(scope, b"accept")
        return waits and path.startswith(ELICITATIONS) and "/" not in path[len(ELICITATIONS) :]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender = Sender(send)
        answer = asyncio.ensure_future(self._answer(scope, sender))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answer.cancel()
            await asyncio.wait({gone, answer})
        error = None if answer.cancelled() else answer.exception()
        if error:
            log.error("a request that waits met what nobody foresaw", exc_info=error)
            await sender.give_up(FlowError())

    async def _answer(self, scope: Scope, sender: Sender) -> None:
        try:
            agent = await self._agent(scope)
            query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            with self.admission.admit(agent.pk):
                await self._wait(agent, scope, query, sender)
        except FlowError as error:
            await sender.give_up(error)
        except DatabaseError:
            log.warning("a request that waits was ended: the database does not answer")
            await sender.give_up(Unavailable("The database does not answer.", retry_after=2))

    async def _wait(self, agent: Agent, scope: Scope, query: dict[str, list[str]], send: Send) -> None:
        hub = self._hub()
        if scope["path"] != EVENTS:
            await longpoll.elicitation(hub, agent, scope["path"][len(ELICITATIONS) :], query, send)
        elif b"text/event-stream" in header(scope, b"accept"):
            last = header(scope, b"last-event-id").decode("latin-1")
            await events.stream(hub, agent, last, query, send, lambda: self._agent(scope))
        else:
            await events.page(hub, agent, query, send)

    async def _agent(self, scope: Scope) -> Agent:
        authorization = header(scope, b"authorization").decode("latin-1")
        address = (scope.get("client") or ("",))[0]
        return await self._hub().run(lambda: authenticate(authorization, address))

    def _hub(self) -> Hub:
        if self.hub is None:
            raise Unavailable("The service is starting or stopping.", retry_after=1)
        return self.hub


def header(scope: Scope, name: bytes) -> bytes:
    """The value of a header, empty when it is absent."""
    return next((value for key, value in scope["headers"] if key == name), b"")


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
