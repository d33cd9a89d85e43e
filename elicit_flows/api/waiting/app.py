"""The ASGI application of the waiting plane: who asks, may they wait, and for what."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from urllib.parse import parse_qs

from django.conf import settings
from django.db import DatabaseError

from elicit_flows.api import problems
from elicit_flows.api.auth import authenticate, key_hash
from elicit_flows.api.waiting import events, longpoll
from elicit_flows.api.waiting.admission import Admission
from elicit_flows.api.waiting.hub import Asker, Hub
from elicit_flows.errors import FlowError, Unavailable
from elicit_flows.lib.pooled import Message, Receive, Scope, Send, respond

log = logging.getLogger(__name__)
ELICITATIONS = "/v1/elicitations/"
EVENTS = "/v1/events"


class Sender:
    """Remembers how far the answer has come: once begun it can only be ended, and it is ended once."""

    __slots__ = ("_begun", "_ended", "_send")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def give_up(self, error: FlowError) -> None:
        if self._ended:
            return
        if self._begun:
            await self({"type": "http.response.body", "body": b""})
        else:
            await respond(self, *problems.raw(error))


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
        if tell_when := scope.get("on_leaving"):
            tell_when(answer.cancel)
        try:
            await _over(receive)
        finally:
            answer.cancel()
            await asyncio.wait({answer})
        if not answer.cancelled() and (error := answer.exception()):
            log.error("a request that waits met what nobody foresaw", exc_info=error)

    async def _answer(self, scope: Scope, sender: Sender) -> None:
        try:
            hub = self._hub()
            asker = await self._asker(hub, scope)
            with self.admission.admit(asker.agent_id):
                await _wait(hub, asker, scope, sender)
        except FlowError as error:
            await sender.give_up(error)
        except DatabaseError:
            log.warning("a request that waits was ended: the database does not answer")
            await sender.give_up(Unavailable("The database does not answer.", retry_after=2))
        except asyncio.CancelledError:  # the server stops, or the client has left and reads nothing any more
            await sender.give_up(Unavailable("The service is stopping.", retry_after=1))
            raise
        finally:
            await sender.give_up(FlowError())

    async def _asker(self, hub: Hub, scope: Scope) -> Asker:
        authorization = header(scope, b"authorization").decode("latin-1")
        known = hub.knows(key_hash(authorization))
        if known:
            return known
        address = (scope.get("client") or ("",))[0]
        agent = await hub.run(lambda: authenticate(authorization, address))
        return Asker(agent.pk, agent.key_hash)

    def _hub(self) -> Hub:
        if self.hub is None:
            raise Unavailable("The service is starting or stopping.", retry_after=1)
        return self.hub


def header(scope: Scope, name: bytes) -> bytes:
    """The value of a header, empty when it is absent."""
    return next((value for key, value in scope["headers"] if key == name), b"")


def _wait(hub: Hub, asker: Asker, scope: Scope, send: Send) -> Awaitable[None]:
    """What is waited for, and how."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if scope["path"] != EVENTS:
        return longpoll.elicitation(hub, asker, scope["path"][len(ELICITATIONS) :], query, send)
    if b"text/event-stream" in header(scope, b"accept"):
        last = header(scope, b"last-event-id").decode("latin-1")
        return events.stream(hub, asker, last, query, send)
    return events.page(hub, asker, query, send)


async def _over(receive: Receive) -> None:
    """Until the client has left or has all of its answer: the server says both in the same way."""
    while (await receive())["type"] != "http.disconnect":
        continue
