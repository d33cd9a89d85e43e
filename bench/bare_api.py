"""An API of a provider, and the least that can forward calls to it: what calls through the service are measured
against.

``/v1/…`` answers at once, ``/slow/…`` after 20 milliseconds. With ``BENCH_UPSTREAM`` set, every path is forwarded
there.
"""

from __future__ import annotations

import asyncio
import json
import os

import httpx2

from elicit_flows.lib.wsgi_bridge import Receive, Scope, Send

SLOW = 0.02  # seconds: an API in the same region
BODY = json.dumps({"files": [{"id": number, "name": f"file-{number}.txt"} for number in range(50)]}).encode()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
UPSTREAM = os.environ.get("BENCH_UPSTREAM", "")
TOKEN = {"authorization": "Bearer a-token"}


class Forwarding:
    """The client is made on the loop that uses it."""

    client: httpx2.AsyncClient | None = None


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    if UPSTREAM:
        await _forward(scope, send)
        return
    if scope["path"].startswith("/slow"):
        await asyncio.sleep(SLOW)
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


async def _forward(scope: Scope, send: Send) -> None:
    """With a token, and nothing checked, limited or logged."""
    client = Forwarding.client = Forwarding.client or httpx2.AsyncClient(trust_env=False)
    async with client.stream(scope["method"], f"{UPSTREAM}{scope['path']}", headers=TOKEN) as reply:
        length = reply.headers["content-length"].encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": reply.status_code, "headers": headers})
        async for piece in reply.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
