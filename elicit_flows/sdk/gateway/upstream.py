"""The gateway's connection to one server behind it, in whichever era the two agree on."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.config import Config, ConfigError, ServerSection
from elicit_flows.sdk.gateway.lines import Lines, Waits, from_server, messages, process
from elicit_flows.sdk.gateway.server_sign_in import KEPT_OUT, ClientCredentials, headers_of, kept_out, lacking
from elicit_flows.sdk.gateway.wire import (
    MCP_SESSION_ID,
    Client,
    headers_for,
    is_modern,
    request_for,
    unknown_session,
    well_formed,
    why,
)

log = logging.getLogger(__name__)
START_SECONDS = 60.0  # npx may have to fetch the server first
PROBE_SECONDS = 10.0
CONNECT_SECONDS, READ_SECONDS = 30.0, 300.0
MOST_PAGES = 100
FIRST_PASSED = 1_000_000_000  # ids of requests beside the library, which counts its own from 1
LISTENS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
PROGRESS = "notifications/progress"
# Notifications about requests of this connection, which mean nothing on another.
OF_THE_CONNECTION = (PROGRESS, "notifications/cancelled", "notifications/subscriptions/acknowledged")

OnRequest = Callable[[str, Json], Awaitable[Json]]
OnNotify = Callable[[str, Json], Awaitable[None]]
OnLine = Callable[[Json], bool]
OnProgress = Callable[[Json], Awaitable[None]]


class StartError(Exception):
    """A server cannot be started or does not speak MCP. ``status``: with which it refused a request, if it did."""

    status = 0


@dataclass(slots=True)
class Upstream:
    """One connection. ``env``: variables that this user's process gets beside those of the file. ``headers``: the same
    for a server with an address. ``auth``: the gateway's own sign-in there.

    ``on_line``: sees a program's notifications first, and says whether it has dealt with one. ``lines``: a program's.
    ``http`` and ``session``: of a server with an address.
    """

    name: str
    config: Config
    client: Client
    on_request: OnRequest
    on_notify: OnNotify
    on_line: OnLine
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: ClientCredentials | None = None
    version: str = ""
    capabilities: Json = field(default_factory=dict)
    instructions: str = ""
    busy: int = 0
    used_at: float = field(default_factory=time.monotonic)
    param_headers: dict[str, Any] = field(default_factory=dict)
    lines: Lines | None = None
    http: httpx2.AsyncClient | None = None
    session: str = ""
    refused: int = 0  # the status with which the server refused the latest request, if it did
    lost: bool = False  # the server does not know the session any more (Streamable HTTP: 404)
    lacks: dict[str, tuple[str, ...]] = field(default_factory=dict)  # see ``lacking``
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_PASSED))
    _passed: dict[int, Waits] = field(default_factory=dict)
    _on_progress: dict[int, OnProgress] = field(default_factory=dict)
    _dispatcher: JSONRPCDispatcher[Any] | None = None
    _task: asyncio.Task[None] | None = None
    _end: asyncio.Event = field(default_factory=asyncio.Event)
    _renewing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def section(self) -> ServerSection:
        return self.config.servers[self.name]

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        """Connect. Raises StartError."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready))
        try:
            async with asyncio.timeout(START_SECONDS):
                await ready
        except TimeoutError as late:
            await self.stop()
            raise StartError(f"The server {self.name!r} did not answer within {START_SECONDS:.0f} s.") from late
        except asyncio.CancelledError:
            self._task.cancel()  # nobody else would end it
            raise

    async def stop(self) -> None:
        """End the connection, and the process if there is one."""
        self._end.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=10)
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def request(
        self,
        method: str,
        params: Json,
        *,
        headers: Mapping[str, str] | None = None,
        on_progress: ProgressFnT | None = None,
        capabilities: Json | None = None,
    ) -> Json:
        """Send a request and return its result as it is. Raises the library's MCPError, and StartError if the server
        has lost the session and begins no other.
        """
        renewed = self.lost
        if renewed:
            async with self._renewing:
                if self.lost:  # and no other request has renewed it meanwhile
                    await self.stop()
                    self._end.clear()
                    self.session = ""
                    await self.start()
                    self.lost = False
        if self._dispatcher is None:
            raise MCPError(CONNECTION_CLOSED, f"The server {self.name!r} is not connected.")
        sent = request_for(self.version, params, self.client.info, capabilities or self.client.capabilities)
        told = headers_for(self.version, method, params) | dict(headers or {})
        if method == "tools/call" and is_modern(self.version):
            known = self.param_headers.get(str(params.get("name")), {})
            told |= mcp_param_headers(known, params.get("arguments") or {})
        options: CallOptions = {"headers": told}
        if on_progress:
            options["on_progress"] = on_progress
        self.busy += 1
        try:
            return await self._dispatcher.send_raw_request(method, sent, options)
        except MCPError as refused:
            if renewed or not self.lost or refused.error.code == CONNECTION_CLOSED:
                raise  # a request that was under way may have run
        finally:
            self._rested()
        return await self.request(method, params, headers=headers, on_progress=on_progress, capabilities=capabilities)

    async def notify(self, method: str, params: Json) -> None:
        if self._dispatcher is not None:
            await self._dispatcher.notify(method, params, {"headers": headers_for(self.version, method, params)})

    def pass_on(self, method: str, params: Json, waits: Waits, *, progress: bool) -> int:
        """Send a request to a program, beside the library. Returns its id. Raises as ``Lines.send`` does."""
        if self.lines is None:
            raise RuntimeError("Only a program is talked to in lines.")
        made = next(self.ids)
        if progress:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": made}}
        self.lines.send({"jsonrpc": "2.0", "id": made, "method": method, "params": params})
        self._passed[made] = waits
        self.busy += 1
        return made

    def give_up(self, made: int, reason: str) -> None:
        """Cancel a request that was passed on."""
        if self._passed.pop(made, None) is not None and self.lines is not None:
            self._rested()
            told = {"requestId": made, "reason": reason}
            self.lines.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": told})

    @asynccontextmanager
    async def posting(
        self, made: int, body: bytes, headers: Mapping[str, str], on_progress: OnProgress | None
    ) -> AsyncIterator[httpx2.Response]:
        """Send the request ``made`` to a server with an address, beside the library. Gives what the server says to it.
        Raises httpx2.HTTPError.
        """
        if self.http is None:
            raise RuntimeError("Only a server with an address is posted to.")
        if on_progress is not None:
            self._on_progress[made] = on_progress
        self.busy += 1
        try:
            async with self.http.stream("POST", str(self.section.url), content=body, headers=headers) as response:
                yield response
        finally:
            self._on_progress.pop(made, None)
            self._rested()

    async def hear(self, method: str, params: Json) -> None:
        """Deal with a notification."""
        on_progress = self._on_progress.get(_passed_id(params.get("progressToken"))) if method == PROGRESS else None
        if on_progress is not None:
            await on_progress(params)
        elif method not in OF_THE_CONNECTION:
            await self.on_notify(method, params)

    async def _note_answer(self, response: httpx2.Response) -> None:
        self.session = response.headers.get(MCP_SESSION_ID, self.session)
        self.refused = response.status_code if response.status_code in KEPT_OUT else 0
        self.lost |= unknown_session(response) == self.session != ""
        self.lacks.update(lacking(response))

    def _rested(self) -> None:
        self.busy -= 1
        self.used_at = time.monotonic()

    def _line(self, message: Json) -> bool:
        """A program's message: whether the library need not see it."""
        if "method" in message:
            params = message.get("params")
            if message["method"] != PROGRESS or not isinstance(params, dict):
                return message["method"] not in OF_THE_CONNECTION and self.on_line(message)
            waits = self._passed.get(_passed_id(params.get("progressToken")))
            if waits is not None:
                waits.progressed(params)
            return waits is not None
        waits = self._passed.pop(_passed_id(message.get("id")), None)
        if waits is not None:
            self._rested()
            waits.answered(well_formed(message))
        return waits is not None

    async def all(self, method: str, member: str) -> list[Json]:
        """All pages of a list; none if the server has no such list."""
        found: list[Json] = []
        cursor: Json = {}
        for _ in range(MOST_PAGES):
            try:
                page = await self.request(method, cursor)
            except MCPError as refused:
                if refused.error.code == METHOD_NOT_FOUND:
                    return found
                raise
            found += [one for one in page.get(member, []) if isinstance(one, dict)]
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        if member == "tools":
            self.param_headers = {one.get("name", ""): x_mcp_header_map(one.get("inputSchema")) for one in found}
        return found

    async def _run(self, ready: asyncio.Future[None]) -> None:
        """The connection's own task, because the library's contexts have to end in the task that began them."""
        try:
            async with self._streams() as (read, write):
                dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(read, write)
                receiving = asyncio.create_task(dispatcher.run(self._requested, self._notified))
                ending = asyncio.create_task(self._end.wait())
                listening: asyncio.Task[None] | None = None
                try:
                    await asyncio.sleep(0)  # so that it receives
                    self._dispatcher = dispatcher
                    await self._shake_hands()
                    if not ready.done():
                        ready.set_result(None)
                    if is_modern(self.version):
                        listening = asyncio.create_task(self._listen())
                    await asyncio.wait({receiving, ending}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    self._dispatcher = None
                    for task in (receiving, ending, listening):
                        if task is not None:
                            task.cancel()
                    await asyncio.gather(receiving, ending, *([listening] if listening else []), return_exceptions=True)
        except (OSError, ValueError, ConfigError, MCPError, httpx2.HTTPError, TimeoutError, ExceptionGroup) as failed:
            if ready.done():
                log.warning("the connection to the server %s ended: %s", self.name, why(failed))
            else:
                said = kept_out(self.section, self.refused, self.headers) or f"could not be reached: {why(failed)}"
                wrong = StartError(f"The server {self.name!r} {said}")
                wrong.status = self.refused
                ready.set_exception(wrong)
        finally:
            if not ready.done():
                ready.set_exception(StartError(f"The server {self.name!r} ended before it answered."))
            while self._passed:
                _, waits = self._passed.popitem()
                self._rested()
                waits.answered({"error": {"code": CONNECTION_CLOSED, "message": "Connection closed"}})

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        section = self.section
        if section.command is not None:
            env = {**section.env, **self.env}
            env |= {name: self.config.variable(name, f"servers.{self.name}.env_from") for name in section.env_from}
            program = StdioServerParameters(command=section.command, args=section.args, env=env, cwd=section.cwd)
            if os.name != "posix":
                async with stdio_client(program) as streams:
                    yield streams
                return
            lines = Lines(from_server, self._line, lambda wrong: log.warning("a line of %s: %s", self.name, wrong))
            async with process(program, lines), messages(lines) as streams:
                self.lines = lines
                yield streams
            return
        if self.auth is not None:
            await self.auth.token()  # at once, so that what is wrong is said
        async with (
            httpx2.AsyncClient(
                headers=headers_of(self.config, self.name, self.headers),
                auth=self.auth,
                timeout=httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS),
                event_hooks={"response": [self._note_answer]},
            ) as client,
            streamable_http_client(str(section.url), http_client=client) as streams,
        ):
            self.http = client
            yield streams

    async def _shake_hands(self) -> None:
        """First in the client's own era, so that each side asks the other in the way that both know."""
        ways = (self._discover, self._initialize) if self.client.modern else (self._initialize, self._discover)
        try:
            async with asyncio.timeout(PROBE_SECONDS if self.client.modern else START_SECONDS):
                await ways[0]()
        except (MCPError, TimeoutError) as refused:
            # On HTTP that code is a server's own: its connections are not those of the session.
            gone = isinstance(refused, MCPError) and refused.error.code == CONNECTION_CLOSED
            if gone and self.section.url is None:
                raise
            await ways[1]()

    async def _initialize(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        told = {
            "protocolVersion": self.version,
            "capabilities": self.client.capabilities,
            "clientInfo": self.client.info,
        }
        said = await self._sent("initialize", told, {})
        self.version = str(said.get("protocolVersion"))
        self._learn(said)
        await self.notify("notifications/initialized", {})

    async def _discover(self) -> None:
        self.version = LATEST_MODERN_VERSION
        sent = request_for(self.version, {}, self.client.info, self.client.capabilities)
        said = await self._sent("server/discover", sent, headers_for(self.version, "server/discover", {}))
        if not any(one in MODERN_PROTOCOL_VERSIONS for one in said.get("supportedVersions", [])):
            raise MCPError(METHOD_NOT_FOUND, "The server knows no revision that the gateway knows.")
        self._learn(said)

    async def _sent(self, method: str, params: Json, headers: dict[str, str]) -> Json:
        if self._dispatcher is None:
            raise MCPError(CONNECTION_CLOSED, "Not connected")
        options: CallOptions = {"cancel_on_abandon": False}
        return await self._dispatcher.send_raw_request(
            method, params, {**options, "headers": headers} if headers else options
        )

    def _learn(self, said: Json) -> None:
        self.capabilities = said.get("capabilities") or {}
        self.instructions = str(said.get("instructions") or "")

    async def _listen(self) -> None:
        """A server of 2026-07-28 tells of changes only to those that listen."""
        while self._dispatcher is not None:
            told = request_for(self.version, {"notifications": LISTENS}, self.client.info, self.client.capabilities)
            with suppress(MCPError):
                await self._sent("subscriptions/listen", told, headers_for(self.version, "subscriptions/listen", told))
            await asyncio.sleep(PROBE_SECONDS)

    async def _requested(self, context: Any, method: str, params: Mapping[str, Any] | None) -> Json:
        return {} if method == "ping" else await self.on_request(method, dict(params or {}))

    async def _notified(self, context: Any, method: str, params: Mapping[str, Any] | None) -> None:
        await self.hear(method, dict(params or {}))


def _passed_id(given: Any) -> int:
    """The id of a request beside the library; 0 if it is no such."""
    return given if type(given) is int else 0
