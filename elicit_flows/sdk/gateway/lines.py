"""Messages as lines of JSON: between the gateway and its client, or a server's process.

The library reads and writes models, which takes most of the time of a call that needs nothing. So each line is decoded
once, and shown to ``take`` first. What that does not take is given to the library, written anew from what was decoded:
nobody reads a line in another way than the one that decided about it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from typing import Any, Protocol, cast

from mcp.client.stdio import StdioServerParameters, get_default_environment
from mcp.server.stdio import stdio_server

from elicit_flows.domain.values import Json

log = logging.getLogger(__name__)
MAX_LINE = 64 * 1024 * 1024  # bytes
END_SECONDS = 2.0  # that a process has after each step of being ended
Take = Callable[[Json], bool]
encoded = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _once(members: list[tuple[str, Any]]) -> Json:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("A member is given twice.")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON.")


# What decides about guards reads as strictly as JSON allows. The service's ``http.strict_json`` has limits that MCP has
# not, and is not in the wheel.
from_client = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number).decode
# A server's numbers that JSON lacks, such as NaN, are null, as the library writes them.
from_server = json.JSONDecoder(parse_constant=lambda _: None).decode


class Waits(Protocol):
    """What waits for the answer to a request beside the library."""

    def answered(self, message: Json) -> None: ...

    def progressed(self, params: Json) -> None: ...


class Lines(asyncio.Protocol):
    """Both directions of one connection. For the library it is a pair of text files.

    ``take`` gets each message that is an object, and says whether it has dealt with it. ``refuse`` gets what is wrong
    with a line that is no JSON.
    """

    def __init__(self, decode: Callable[[str], Any], take: Take, refuse: Callable[[str], None]) -> None:
        self._decode, self._take, self._refuse = decode, take, refuse
        self._begun: list[bytes] = []
        self._size = 0
        self._left: asyncio.Queue[str | None] = asyncio.Queue()
        self._from: asyncio.ReadTransport | None = None
        self._to: asyncio.WriteTransport | None = None
        self._full = False
        self._held: set[Lines] = set()

    def writes_to(self, transport: asyncio.WriteTransport) -> None:
        self._to = transport

    @property
    def written(self) -> bool:
        """Whether they go anywhere. They do not where the library has the client's connection."""
        return self._to is not None

    def reads_from(self, transport: asyncio.ReadTransport) -> None:
        self._from = transport

    def send(self, message: Json, source: Lines | None = None) -> None:
        """Write a message; ``source`` is not read from while the other side takes nothing. Raises ValueError for a
        number that is none of JSON, and RecursionError.
        """
        line = encoded(message).encode() + b"\n"
        if self._to is not None and not self._to.is_closing():
            self._to.write(line)
        if self._full and source is not None and source not in self._held and source._from is not None:
            source._from.pause_reading()
            self._held.add(source)

    def give(self, message: Any) -> None:
        """Have the library deal with a message. Raises as ``send`` does."""
        self._left.put_nowait(encoded(message))

    def end(self) -> None:
        """Nothing more comes: the library ends the connection."""
        self._left.put_nowait(None)

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        if whole and self._begun:
            whole[0] = b"".join((*self._begun, whole[0]))
        if whole:
            self._begun, self._size = [], 0
        if rest:
            self._begun.append(rest)
            self._size += len(rest)
        for line in whole:
            if line and not line.isspace():
                try:
                    message = self._decode(line.decode())
                    if not (isinstance(message, dict) and self._take(message)):
                        self.give(message)
                except (ValueError, RecursionError) as wrong:
                    self._refuse(str(wrong))
        if self._size > MAX_LINE:
            log.warning("a line is longer than %s bytes; the connection ends", MAX_LINE)
            self._begun, self._size = [], 0
            if self._from is not None:
                self._from.close()
            self.end()

    def eof_received(self) -> None:
        self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        for one in self._held:
            if one._from is not None:
                one._from.resume_reading()
        self._held.clear()

    # What the library's ``stdio_server`` does with files.

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._left.get()
        if line is None:
            raise StopAsyncIteration
        return line

    async def write(self, text: str) -> None:
        if self._to is not None and not self._to.is_closing():
            self._to.write(text.encode())

    async def flush(self) -> None:
        """Nothing is kept back."""


@asynccontextmanager
async def messages(lines: Lines) -> AsyncIterator[tuple[Any, Any]]:
    """What is left for the library, as the streams that it works on."""
    file: Any = lines  # it has of a text file what the library uses
    async with stdio_server(file, file) as streams:
        try:
            yield streams
        finally:
            lines.end()  # the library waits for the end of what it reads, and of what is written
            await streams[1].aclose()


def piped() -> bool:
    """Whether this process was started with two pipes, as MCP clients start it. Elsewhere the library's own way is
    taken: on Windows, at a terminal, or where both are one socket.
    """
    if os.name != "posix":
        return False
    both = [os.fstat(one) for one in (0, 1)]
    kinds = all(stat.S_ISFIFO(one.st_mode) or stat.S_ISSOCK(one.st_mode) for one in both)
    return kinds and not os.path.samestat(*both)


class _Out(asyncio.Protocol):
    """The other end of a connection that is written to."""

    def __init__(self, lines: Lines) -> None:
        self.pause_writing, self.resume_writing = lines.pause_writing, lines.resume_writing  # type: ignore[method-assign]
        self._lines = lines

    def connection_lost(self, exc: Exception | None) -> None:
        self._lines.end()


@asynccontextmanager
async def own_pipes(lines: Lines) -> AsyncIterator[None]:
    """``lines`` are those of this process's client. What is printed meanwhile goes to stderr, not among them."""
    loop = asyncio.get_running_loop()
    sys.stdout.flush()
    ends = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    to, _ = await loop.connect_write_pipe(lambda: _Out(lines), ends[1])
    lines.writes_to(to)
    reading, _ = await loop.connect_read_pipe(lambda: lines, ends[0])
    lines.reads_from(reading)
    try:
        yield
    finally:
        reading.close()
        to.close()


class _Process(asyncio.SubprocessProtocol):
    """A program that is written to; what it writes is read from a pipe of its own."""

    def __init__(self, lines: Lines) -> None:
        self.pause_writing, self.resume_writing = lines.pause_writing, lines.resume_writing  # type: ignore[method-assign]
        self._lines = lines
        self.exited = asyncio.Event()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._lines.end()

    def process_exited(self) -> None:
        self.exited.set()


@asynccontextmanager
async def process(program: StdioServerParameters, lines: Lines) -> AsyncIterator[None]:
    """``lines`` are those of a program that is started, in a process group of its own. It is ended as MCP says: its
    input ends, and if it stays, it is asked to go, and made to. Raises OSError.
    """
    loop = asyncio.get_running_loop()
    # What is read from a pipe that asyncio made for a program is handed on in the next turn of the loop.
    output, given = os.pipe()
    reading, _ = await loop.connect_read_pipe(lambda: lines, os.fdopen(output, "rb", 0))
    lines.reads_from(reading)
    with closing(reading):
        with os.fdopen(given, "wb", 0) as stdout:
            transport, protocol = await loop.subprocess_exec(
                lambda: _Process(lines),
                program.command,
                *program.args,
                stdout=stdout,
                stderr=None,
                env=get_default_environment() | (program.env or {}),
                cwd=program.cwd,
                start_new_session=True,
            )
        to = transport.get_pipe_transport(0)
        lines.writes_to(cast("asyncio.WriteTransport", to))
        try:
            yield
        finally:
            if to is not None:
                to.close()
            stopping = asyncio.ensure_future(_gone(transport.get_pid(), protocol.exited))
            try:
                await asyncio.shield(stopping)
            except asyncio.CancelledError:
                await stopping
                raise
            finally:
                transport.close()


async def _gone(pid: int, exited: asyncio.Event) -> None:
    for step in (None, signal.SIGTERM, signal.SIGKILL):
        if step is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, step)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await exited.wait()
                return
