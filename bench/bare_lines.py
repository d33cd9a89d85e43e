"""The least that a proxy between pipes can do: pass on bytes as they come. ``python bench/bare_lines.py COMMAND …``."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast


async def main() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    out, _ = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(os.dup(1), "wb", 0))

    class Server(asyncio.SubprocessProtocol):
        def pipe_data_received(self, fd: int, data: bytes) -> None:
            out.write(data)

        def process_exited(self) -> None:
            ended.set()

    server, _ = await loop.subprocess_exec(Server, *sys.argv[1:], stderr=None)
    to = cast("asyncio.WriteTransport", server.get_pipe_transport(0))

    class Client(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            to.write(data)

        def connection_lost(self, exc: Exception | None) -> None:
            to.close()

    await loop.connect_read_pipe(Client, os.fdopen(os.dup(0), "rb", 0))
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
