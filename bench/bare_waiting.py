"""The least that an ASGI application can do to hold waiters.

What the memory of a waiter is measured against, and how many begin to wait in a second.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from psycopg import AsyncConnection

from elicit_flows.lib.wsgi_bridge import Receive, Scope, Send

STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
CONNECTIONS = 8
SELECT = "SELECT status, seq, message FROM elicit_flows_elicitation WHERE id = %s"


class Waiting:
    """``/v1/events`` is a stream on which nothing ever happens; where there is a database, it is read first.
    ``/v1/elicitations/{id}`` is read from the database and answered at once, or never where it asks for a later state.
    """

    def __init__(self) -> None:
        self._free: asyncio.Queue[AsyncConnection] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] == "/v1/events":
            if "DATABASE_URL" in os.environ:
                await self._row("")
            await send({"type": "http.response.start", "status": 200, "headers": STREAM})
            await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
            await asyncio.Event().wait()
        elif b"after_seq=0" in scope["query_string"]:
            await self._read(scope["path"].rpartition("/")[2], send)
        else:
            await asyncio.Event().wait()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            if kind == "lifespan.startup" and (address := os.environ.get("DATABASE_URL")):
                for _ in range(CONNECTIONS):
                    await self._free.put(await AsyncConnection.connect(address, autocommit=True))
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _row(self, elicitation: str) -> tuple[Any, ...] | None:
        connection = await self._free.get()
        row = await (await connection.execute(SELECT, [elicitation])).fetchone()
        self._free.put_nowait(connection)
        return row

    async def _read(self, elicitation: str, send: Send) -> None:
        row = await self._row(elicitation)
        assert row is not None, elicitation
        body = json.dumps({"id": elicitation, "status": row[0], "seq": row[1], "message": row[2]}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


application = Waiting()
