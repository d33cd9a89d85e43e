"""Everybody at once, at two web processes that share nothing but the stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from tests.payments.till import Till
from tests.support.box import Box
from tests.support.http_user import HttpUser

T = TypeVar("T")


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What they return, in their order. They start at the same moment."""
    start = threading.Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        start.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


class Doors:
    """The web processes of a box as a balancer in front of them would use them: every request may go to any.

    ``address``: where requests come from, so that one test does not use up another's share.
    """

    def __init__(self, box: Box, address: str) -> None:
        self.urls = box.urls
        transport = httpx2.HTTPTransport(local_address=address, trust_env=False)
        self.http = httpx2.Client(transport=transport, timeout=40)

    def through(self, door: int, request: httpx2.Request, user: HttpUser | None = None) -> httpx2.Response:
        """The request at that process, with the Host that the browser meant and the user's cookies."""
        there = urlsplit(self.urls[door % len(self.urls)])
        headers = [(name, value) for name, value in request.headers.multi_items() if name not in {"cookie", "host"}]
        headers.append(("host", request.url.netloc.decode()))
        if user:
            pairs = [f"{cookie.name}={cookie.value}" for cookie in user.http.cookies.jar]
            headers.append(("cookie", "; ".join(pairs)))
        url = request.url.copy_with(port=there.port)
        return self.http.send(self.http.build_request(request.method, url, headers=headers, content=request.read()))

    def get(self, door: int, url: str, user: HttpUser | None = None) -> httpx2.Response:
        return self.through(door, httpx2.Request("GET", url), user)

    def post(self, door: int, path: str, **content: Any) -> httpx2.Response:
        return self.through(door, httpx2.Request("POST", f"{self.urls[0]}{path}", **content))


def waiting_for_locks(till: Till) -> int:
    """How many connections to the box's PostgreSQL are held up by another."""
    statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return int(till.sql(statement)[0][0])


@contextmanager
def doors(box: Box, address: str = "127.0.0.1") -> Iterator[Doors]:
    found = Doors(box, address)
    try:
        yield found
    finally:
        found.http.close()
