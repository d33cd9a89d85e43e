"""Both ends of a connection on the protocol's Python library, with a socket between them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import acp
from acp.core import AgentSideConnection
from acp.schema import ClientCapabilities

from elicit_flows.domain.values import Json


class Person:
    """The client. ``asked`` has each request's mode, ``done`` each completed id; ``answers`` are to be given."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Any] = asyncio.Queue()
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.done: asyncio.Queue[str] = asyncio.Queue()

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.asked.put_nowait(mode)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        self.done.put_nowait(elicitation_id)

    async def ext_notification(self, method: str, params: Json) -> None:
        """Whatever else an agent may say."""

    async def next(self) -> Any:
        return await asyncio.wait_for(self.asked.get(), 10)

    async def link(self) -> str:
        return str((await self.next()).url)

    async def told(self) -> str:
        return await asyncio.wait_for(self.done.get(), 10)


class Pair:
    """``conn`` is what an agent holds, ``transport`` the client's; ``hang_up`` ends it from the client's side."""

    def __init__(self) -> None:
        self.person = Person()

    async def __aenter__(self) -> Pair:
        met: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(lambda *ends: met.set_result(ends), "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self._client = acp.connect_to_agent(self.person, writer, reader, use_unstable_protocol=True)
        theirs, ours = await met
        self.transport: Any = writer.transport
        self._writers = [writer, ours]
        self.conn = AgentSideConnection(object(), ours, theirs)
        return self

    async def hang_up(self) -> None:
        await self._client.close()
        self._writers[0].close()

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()
        await self.conn.close()
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        self._server.close()
        await self._server.wait_closed()


def capabilities(elicitation: Json | None) -> ClientCapabilities:
    return ClientCapabilities.model_validate({} if elicitation is None else {"elicitation": elicitation})
