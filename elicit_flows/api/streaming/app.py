"""The ASGI application for long-polls and streams: authentication, admission, dispatch."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable
from urllib.parse import parse_qs

from django.conf import settings
from django.db import DatabaseError

from elicit_flows.api import auth, elicitations, responses
from elicit_flows.api import events as feed
from elicit_flows.api.auth import authenticate, key_hash
from elicit_flows.api.parsing import check_query, known_to
from elicit_flows.api.streaming import events, longpoll
from elicit_flows.api.streaming.admission import Admission
from elicit_flows.api.streaming.broker import Asker, Broker
from elicit_flows.domain.errors import FlowError, Unavailable
from elicit_flows.lib import gc_tuning, telemetry
from elicit_flows.lib.wsgi_bridge import Message, Receive, Scope, Send, respond

log = logging.getLogger(__name__)
ELICITATIONS = "/v1/elicitations/"
EVENTS = "/v1/events"
REQUEST_ID = telemetry.REQUEST_ID.lower().encode()
KEPT = ("type", "http_version", "method", "path", "raw_path", "query_string", "client", "headers")
KNOWN_TO_ONE = known_to(elicitations.get)
KNOWN_TO_EVENTS = known_to(feed.list_all)


class Sender:
    """Tracks how much of the answer was sent: a started answer can only be ended, and only once. Every answer has its
    ``number``, as those of Django have (web/middleware.py).
    """

    __slots__ = ("_begun", "_ended", "_number", "_send")

    def __init__(self, send: Send, number: str) -> None:
        self._send = send
        self._number = number
        self._begun = self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (REQUEST_ID, self._number.encode())]}
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def give_up(self, error: FlowError) -> None:
        if self._ended:
            return
        if self._begun:
            await self({"type": "http.response.body", "body": b""})
        else:
            await respond(self, *responses.raw(error))


class Waiting:
    """Answers requests that wait. ``hub`` is created when the server starts, on its event loop."""

    def __init__(self) -> None:
        self.hub: Broker | None = None
        self.admission = Admission(settings.ELICIT_MAX_WAITERS, settings.ELICIT_MAX_WAITERS_PER_AGENT)

    def wants(self, scope: Scope) -> bool:
        """Whether this is a request that may wait."""
        path: str = scope["path"]
        if scope["method"] != "GET":
            return False
        waits = any(part.startswith(b"wait=") for part in scope["query_string"].split(b"&"))
        if path == EVENTS:
            return waits or b"text/event-stream" in header(scope, b"accept")
        return waits and path.startswith(ELICITATIONS) and "/" not in path[len(ELICITATIONS) :]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with telemetry.LoggedRequest() as number:
            sender = Sender(send, number)
            tell_when, task = scope.get("on_leaving"), asyncio.current_task()
            has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
            if tell_when is None or task is None or has_body:
                await self._beside(scope, receive, sender)
                return
            # Our own server says when the client has gone, so that no second task need listen for it: 2 kB less.
            tell_when(task.cancel)
            del receive, send, tell_when, task  # what waits holds as little as it can
            try:
                await self._answer(scope, sender)
            except asyncio.CancelledError:
                return

    async def _beside(self, scope: Scope, receive: Receive, sender: Sender) -> None:
        """Answer beside the reading of what the client sends."""
        answer = asyncio.ensure_future(self._answer(scope, sender))
        if tell_when := scope.get("on_leaving"):
            tell_when(answer.cancel)
        try:
            # Until the client has disconnected or has the whole answer: the server reports both in the same way.
            while (await receive())["type"] != "http.disconnect":
                continue
        finally:
            answer.cancel()
            await asyncio.wait({answer})
        if not answer.cancelled():
            answer.exception()  # _answer has logged it

    async def _answer(self, scope: Scope, sender: Sender) -> None:
        try:
            if self.hub is None:
                raise Unavailable("The service is starting or stopping.", retry_after=1)
            hub = self.hub
            asker = await self._asker(hub, scope)
            gc_tuning.begins_to_wait()
            with self.admission.admit(asker.agent_id):
                waiting = _wait(hub, asker, scope, sender)
                _forget(scope)
                await waiting
        except FlowError as error:
            await sender.give_up(error)
        except DatabaseError:
            log.warning("a waiting request was ended: the database does not answer")
            await sender.give_up(Unavailable("The database does not answer.", retry_after=2))
        except asyncio.CancelledError:  # the server stops, or the client has disconnected
            await sender.give_up(Unavailable("The service is stopping.", retry_after=1))
            raise
        finally:
            if isinstance(sys.exception(), Exception):
                log.exception("a waiting request failed with an unexpected error")
            await sender.give_up(FlowError())

    async def _asker(self, hub: Broker, scope: Scope) -> Asker:
        authorization = header(scope, b"authorization").decode("latin-1")
        wanted = key_hash(authorization)
        known, counted = hub.knows(wanted), auth.known.get(wanted)
        if known and counted and time.monotonic() - counted.at < auth.KNOWN_FOR:
            return known
        address = (scope.get("client") or ("",))[0]
        agent = await hub.reads.agent(wanted)
        if agent is None:
            agent = await hub.run(lambda: authenticate(authorization, address))
        return Asker(agent.pk, wanted)


def header(scope: Scope, name: bytes) -> bytes:
    """The value of a header, empty if it is absent."""
    return next((value for key, value in scope["headers"] if key == name), b"")


def _forget(scope: Scope) -> None:
    """Keep no more of a request that waits than ``wants`` and uvicorn need for its answer: the rest takes 2 kB."""
    kept = {name: scope[name] for name in KEPT if name in scope}
    kept["headers"][:] = [pair for pair in kept["headers"] if pair[0] == b"accept"]
    scope.clear()
    scope.update(kept)


def _wait(hub: Broker, asker: Asker, scope: Scope, send: Send) -> Awaitable[None]:
    """The coroutine that waits and answers. Raises Invalid for unknown parameters."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    check_query(query, KNOWN_TO_EVENTS if scope["path"] == EVENTS else KNOWN_TO_ONE)
    if scope["path"] != EVENTS:
        return longpoll.elicitation(hub, asker, scope["path"][len(ELICITATIONS) :], query, send)
    if b"text/event-stream" in header(scope, b"accept"):
        last = header(scope, b"last-event-id").decode("latin-1")
        return events.stream(hub, asker, last, query, send)
    return events.page(hub, asker, query, send)
