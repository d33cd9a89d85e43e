"""The least that an ASGI application can do to hold a stream: what a waiter's memory is measured against."""

from __future__ import annotations

import asyncio

from elicit_flows.lib.wsgi_bridge import Receive, Scope, Send

HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Every path is a stream on which nothing ever happens."""
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
    told = asyncio.Event()
    await told.wait()
