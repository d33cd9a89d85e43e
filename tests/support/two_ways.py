"""Answers one request on the event loop and by Django, with the real parts of the application and without a port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import pytest
import uvloop

from config.asgi import Service
from elicit_flows.api import auth
from elicit_flows.api.rate_limits import Counted
from elicit_flows.lib.wsgi_bridge import Message, Receive, Scope
from tests.support.serving import hang_up

T = TypeVar("T")
OF_EACH = {b"x-request-id", b"ratelimit-remaining", b"ratelimit-reset"}  # another with every answer


class Request(NamedTuple):
    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    query: bytes = b""

    def scope(self) -> Scope:
        return {
            "type": "http", "http_version": "1.1", "method": self.method, "path": self.path, "headers": self.headers,
            "query_string": self.query, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80),
        }  # fmt: skip

    def receive(self) -> Receive:
        async def receive() -> Message:
            return {"type": "http.request", "body": self.body, "more_body": False}

        return receive

    @property
    def key(self) -> bytes:
        return next((value for name, value in self.headers if name == b"authorization"), b"")


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Sent:
    """Collects the messages of an answer."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def answer(self) -> Answer:
        start, content = self.messages
        headers = dict(start["headers"])
        assert len(headers) == len(start["headers"]), "no header twice"
        same = {name: value for name, value in headers.items() if name not in OF_EACH}
        return Answer(start["status"], same, content["body"])


class TwoWays:
    def __init__(self) -> None:
        self.service = Service()
        self._loop = uvloop.new_event_loop()

    def in_thread(self, call: Callable[[], T], *, creates: bool = False) -> T:
        """In the thread that reads, or the one that creates: there is one of each while there is one request at a
        time.
        """
        pool = self.service._agents if creates else self.service._reading
        return self._loop.run_until_complete(pool.run("tokens", call))

    def by_fast_path(self, request: Request) -> Answer | None:
        """The answer of the event loop; None if it left the request to Django, with all of its body."""
        return self.begin(request)()

    def together(self, requests: list[Request]) -> list[Answer | None]:
        """The answers of the event loop to requests that come at the same time; None as above."""

        async def all_of_them() -> list[Answer | None]:
            sent = [Sent() for _ in requests]
            each = zip(requests, sent, strict=True)
            return await asyncio.gather(*(self._quickly(one, self.counted(one, to), to) for one, to in each))

        return self._loop.run_until_complete(all_of_them())

    def begin(self, request: Request) -> Callable[[], Answer | None]:
        """Counts the request, as every one is; the call then has it answered."""
        sent = Sent()
        counted = self.counted(request, sent)
        return lambda: self._loop.run_until_complete(self._quickly(request, counted, sent))

    async def _quickly(self, request: Request, counted: Counted, sent: Sent) -> Answer | None:
        left = await self.service._fast_path(request.scope(), request.receive(), counted)
        if left is None:
            return sent.answer
        assert not sent.messages
        assert (await left())["body"] == request.body
        return None

    def by_django(self, request: Request) -> Answer:
        return self._loop.run_until_complete(self._by_django(request))

    async def _by_django(self, request: Request) -> Answer:
        sent, pool = Sent(), self.service._agents_outside
        counted = self.counted(request, sent)
        await self.service._django(request.scope(), request.receive(), counted, pool=pool, key="one")
        return sent.answer

    def counted(self, request: Request, sent: Sent) -> Counted:
        return self.service._limits.counted(auth.presented(request.key), sent)

    def close(self) -> None:
        for pool in self.service.pools:
            for thread in pool.threads:
                hang_up(thread)
            pool.shutdown()
        self._loop.close()


@pytest.fixture
def two_ways(committed: None) -> Iterator[TwoWays]:
    ways = TwoWays()
    yield ways
    ways.close()
