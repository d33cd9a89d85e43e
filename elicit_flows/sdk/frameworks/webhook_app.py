"""A web app that resumes runs: the service tells it of an answer, and the run goes on before the delivery is over."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Any, Protocol
from weakref import WeakValueDictionary

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.frameworks.answers import Answer
from elicit_flows.sdk.shapes import Event
from elicit_flows.sdk.webhooks import verify_webhook

log = logging.getLogger(__name__)

MOST_BYTES = 1 << 20  # an event is smaller
WAIT = 10.0  # seconds; the service gives a delivery 15
GoOn = Callable[[Answer], Awaitable[object] | object]
Lock = Callable[[str], AbstractAsyncContextManager[Any]]
Message = MutableMapping[str, Any]


class Answers(Protocol):
    """The guards of any framework."""

    def answer(self, event: Event) -> Answer | None: ...


class WebhookApp:
    """An ASGI app for the address to which the service sends an agent's webhooks.

    ``go_on`` is called with each answer: a coroutine function, or a function, which gets a thread. It resumes the run,
    and may be called more than once for an answer. ``secret`` is the agent's ``whsec_…``, or several while one
    replaces another.

    A delivery is answered when ``go_on`` has returned, so the service tries again if this process dies, or if ``go_on``
    raises an error. After ``wait`` seconds the answer is 503, and the next try waits for the same call. Answers of one
    run are dealt with one after the other. ``lock``: a function of the run's id that returns an asynchronous
    context manager, for apps with several processes; None locks within this process.
    """

    def __init__(
        self,
        flows: Answers,
        go_on: GoOn,
        secret: str | Sequence[str],
        *,
        lock: Lock | None = None,
        wait: float = WAIT,
    ) -> None:
        self._flows = flows
        self._go_on = go_on
        self._secret = secret
        self._lock = lock or (lambda run: self._locks.setdefault(run, asyncio.Lock()))
        self._wait = wait
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve one request. Raises ValueError for what is no HTTP."""
        if scope["type"] != "http":
            raise ValueError(f"Webhooks come by HTTP, not by {scope['type']}.")
        status = HTTPStatus.METHOD_NOT_ALLOWED
        if scope["method"] == "POST":
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            body = await _body(receive)
            status = (
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE if body is None else HTTPStatus(await self.receive(headers, body))
            )
        await send({"type": "http.response.start", "status": int(status), "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Deal with a delivery, and return the status to answer with. For other web frameworks.

        ``body``: the bytes of the request as they arrived.
        """
        try:
            event = verify_webhook(headers, body, self._secret)
        except ElicitError:
            return HTTPStatus.BAD_REQUEST
        answer = self._flows.answer(event)
        if answer is None:
            return HTTPStatus.NO_CONTENT
        task = self._under_way.get(answer.elicitation.id)
        if task is None:
            task = self._under_way[answer.elicitation.id] = asyncio.create_task(self._deal_with(answer))
            task.add_done_callback(lambda ended: self._end(answer, ended))
        done, _ = await asyncio.wait([task], timeout=self._wait)
        if not done:
            return HTTPStatus.SERVICE_UNAVAILABLE
        return HTTPStatus.INTERNAL_SERVER_ERROR if _failure(task) else HTTPStatus.NO_CONTENT

    async def _deal_with(self, answer: Answer) -> None:
        async with self._lock(answer.run):
            if inspect.iscoroutinefunction(self._go_on):
                await self._go_on(answer)
            else:
                await asyncio.to_thread(self._go_on, answer)

    def _end(self, answer: Answer, ended: asyncio.Task[None]) -> None:
        del self._under_way[answer.elicitation.id]
        if error := _failure(ended):
            log.error("go_on failed for run %s; the service tries again", answer.run, exc_info=error)


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    return asyncio.CancelledError() if task.cancelled() else task.exception()


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes | None:
    """The request's body, None if it is too long."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return None
    return body
