"""An ASGI application that runs a WSGI application: each request uses one of a fixed number of threads
(``thread_pools.ThreadPool``).

Django's own ASGI handler occupies a thread for every open request. Here the threads are few, and their database
connections stay open between requests.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import partial
from typing import Any
from urllib.parse import quote

from elicit_flows.lib.thread_pools import ThreadPool

BODY_SECONDS = 30.0

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class BodyTooLarge(Exception):
    """The request's body is over the limit; the rest was not read."""


class BodyTooSlow(Exception):
    """The request's body did not arrive in time."""


class Disconnected(Exception):
    """The client disconnected before its request was complete."""


class WsgiBridge:
    """Runs ``app`` in threads. ``max_body``: the largest body, in bytes; ``scheme``: the public one."""

    def __init__(self, app: Wsgi, *, max_body: int, scheme: str) -> None:
        self._app, self._max_body, self._scheme = app, max_body, scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send, *, pool: ThreadPool, key: str) -> None:
        """Answer one request in a thread of ``pool``, among those with the same ``key``.

        Raises BodyTooLarge or BodyTooSlow before anything is sent.
        """
        try:
            body = await read_body(scope, receive, self._max_body)
        except Disconnected:
            return
        environ = self._environ(scope, body)
        status, headers, content = await pool.run(key, partial(self._call, environ))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def _call(self, environ: dict[str, Any]) -> tuple[int, Headers, bytes]:
        started: list[tuple[int, Headers]] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
            encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
            started.append((int(status[:3]), encoded))

        result = self._app(environ, start_response)
        try:
            content = b"".join(result)
        finally:
            if hasattr(result, "close"):
                result.close()
        return (*started[-1], content)

    def _environ(self, scope: Scope, body: bytes) -> dict[str, Any]:
        host, port = scope.get("server") or ("", 0)
        environ: dict[str, Any] = {
            "REQUEST_METHOD": scope["method"],
            "SCRIPT_NAME": "",
            "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
            "QUERY_STRING": scope["query_string"].decode("latin-1"),
            "SERVER_NAME": host or "localhost",
            "SERVER_PORT": str(port or 0),
            "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
            "REMOTE_ADDR": (scope.get("client") or ("",))[0],
            "REQUEST_URI": quote(scope["path"]),
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": self._scheme,
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        for name, value in ((one.decode("latin-1"), said.decode("latin-1")) for one, said in scope["headers"]):
            # As in CGI. A name with an underscore is dropped, because it could be mistaken for another header.
            if "_" in name or name == "content-length":
                continue
            key = "CONTENT_TYPE" if name == "content-type" else f"HTTP_{name.upper().replace('-', '_')}"
            joint = "; " if name == "cookie" else ","
            environ[key] = f"{environ[key]}{joint}{value}" if key in environ else value
        return environ


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body. Raises BodyTooLarge beyond ``limit`` bytes, BodyTooSlow, Disconnected when the client leaves."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limit:
        raise BodyTooLarge
    try:
        async with asyncio.timeout(BODY_SECONDS):
            chunks, size, more = [], 0, True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > limit:
                    raise BodyTooLarge
                more = message.get("more_body", False)
            return b"".join(chunks)
    except TimeoutError:
        raise BodyTooSlow from None


async def respond(send: Send, status: int, headers: Headers, content: bytes) -> None:
    """Send a whole answer with its length; without a length the server would send it in chunks."""
    headers = [*headers, (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
