"""One client of the gateway, the servers' connections that are its own, and what goes between the two."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import INVALID_REQUEST

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.config import Config
from elicit_flows.sdk.gateway.server_sign_in import ClientCredentials
from elicit_flows.sdk.gateway.upstream import Upstream
from elicit_flows.sdk.gateway.wire import LOG_LEVEL_META, Answer, Client, Message, asks_for_input, without

HELD = "held"  # the member of requestState that names a call that goes on here
INPUTS = ("elicitation/create", "sampling/createMessage", "roots/list")
EVENTS: Mapping[str, ServerEvent] = {
    "notifications/tools/list_changed": ToolsListChanged(),
    "notifications/prompts/list_changed": PromptsListChanged(),
    "notifications/resources/list_changed": ResourcesListChanged(),
}
MOST_SECRETS = 100
# Calls that wait for answers which a client brings with a later request, or never.
MOST_HELD = 100
HELD_SECONDS = 3600.0
STATE_ONLY_SECONDS = (0.05, 0.25)
MOST_ROUNDS = 50
SUBSCRIPTION_META = "io.modelcontextprotocol/subscriptionId"
LINKS_NEEDED = -32042  # of 2025-11-25
Owned = tuple[str, str]


@dataclass(eq=False)
class Exchange:
    """A request that a server works on. ``context``: of the client's request that waits for it now.

    ``hand_over``: makes the library wait for it, before a 2026-07-28 client is asked something in the result.
    ``taken``: by the library, once it is asked to. The two below are made when they are first needed.
    """

    context: Any
    hand_over: Callable[[], None] | None = None
    task: asyncio.Task[Json] | None = None
    open: dict[str, tuple[Json, asyncio.Future[Json]]] = field(default_factory=dict)
    held_at: float = 0.0

    @cached_property
    def asked(self) -> asyncio.Queue[tuple[str, Json, asyncio.Future[Json]]]:
        return asyncio.Queue()

    @cached_property
    def taken(self) -> asyncio.Event:
        return asyncio.Event()

    def answer(self, responses: Json) -> None:
        """Give the server what the client answered."""
        for key in [key for key in self.open if key in responses]:
            _, future = self.open.pop(key)
            if not future.done():
                future.set_result(responses[key])

    async def next(self) -> Json | None:
        """The server's result; None if it asks for input first."""
        if self.task is None:
            raise RuntimeError("The exchange has not begun.")
        while not self.open:
            asking = asyncio.ensure_future(self.asked.get())
            try:
                await asyncio.wait({self.task, asking}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                self.task.cancel()
                raise
            finally:
                if not asking.done():
                    asking.cancel()
            if not asking.cancelled() and asking.done():
                self._take(asking.result())
                while not self.asked.empty():
                    self._take(self.asked.get_nowait())
                break
            if self.task.done():
                return self.task.result()
        return None

    def _take(self, one: tuple[str, Json, asyncio.Future[Json]]) -> None:
        method, params, future = one
        self.open[secrets.token_hex(4)] = ({"method": method, "params": params}, future)


class Begun(Protocol):
    """A request that was passed on beside the library, which now takes over."""

    made: Exchange

    async def result(self) -> Json: ...


@dataclass(slots=True)
class Peers:
    """``session``: the client's, for what a server says while no request is open. ``names``: the tools and prompts that
    it was shown, by what they are. ``hear``: sees a program's notifications first (see ``Upstream.on_line``).
    ``sign_ins``: by server, the gateway's own. ``user``: whom the client's token names; empty if it has none.
    """

    config: Config
    client: Client
    session: Any
    hear: Callable[[Peers, Json], bool]
    sign_ins: Mapping[str, ClientCredentials] = field(default_factory=dict)
    secrets: OrderedDict[str, None] = field(default_factory=OrderedDict)
    names: dict[str, dict[str, Owned]] = field(default_factory=dict)
    schemas: dict[Owned, Json] = field(default_factory=dict)
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    listen: ListenHandler = field(init=False)
    user: Sequence[Any] = ()
    used_at: float = field(default_factory=time.monotonic)
    held: OrderedDict[str, Exchange] = field(default_factory=OrderedDict)
    _upstreams: dict[tuple[str, str], Upstream] = field(default_factory=dict)
    _exchanges: list[tuple[str, Exchange]] = field(default_factory=list)
    _requests: int = 0
    _starting: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listen = ListenHandler(self.bus)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around a request: it may wait for its user, or for a server to start, before the server gets it."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    def idle(self) -> bool:
        """Whether nothing goes on here. A call whose answer has not come for an hour is given up."""
        self._give_up(MOST_HELD)
        return not self._requests and not self.held and not self._exchanges

    async def upstream(self, name: str, own: Mapping[str, str] | None = None) -> Upstream:
        """The connection to a server; with ``own``, one of its own that has these variables of a program's, or these
        headers. Raises StartError.
        """
        own = own or {}
        key = (name, json.dumps(dict(own), sort_keys=True))
        known = self._upstreams.get(key)
        if known is not None and known.alive:
            return known
        async with self._starting.setdefault(key, asyncio.Lock()):
            known = self._upstreams.get(key)
            if known is not None and known.alive:
                return known
            by_address = self.config.servers[name].url is not None
            made = Upstream(
                name,
                self.config,
                self.client,
                lambda method, params: self._input(self._current(name), {"method": method, "params": params}),
                lambda method, params: self._notified(name, method, params),
                lambda message: self.hear(self, message),
                env={} if by_address else own,
                headers=own if by_address else {},
                auth=None if own else self.sign_ins.get(name),
            )
            if own and by_address:
                made.param_headers = (await self.upstream(name)).param_headers  # of what was listed there
            await made.start()
            self._upstreams[key] = made
            if own:  # a token was renewed: what has the old one ends, once nothing waits for it
                old = [
                    one for one, its in self._upstreams.items()
                    if its is not made and not its.busy and one[0] == name and json.loads(one[1]).keys() == own.keys()
                ]  # fmt: skip
                await asyncio.gather(*(self._upstreams.pop(one).stop() for one in old))
            return made

    def beside(self, tool: str, asked: Callable[[str, str], Sequence[Any]]) -> tuple[Owned, Upstream] | None:
        """Where a call is passed on beside the library: to the server that has a tool which the client was shown, for
        which nothing is ``asked``, over a connection that is there and has no token of the user.
        """
        owned = self.names.get("tools/list", {}).get(tool)
        known = self._upstreams.get((owned[0], "{}")) if owned and not asked(*owned) else None
        if owned is None or known is None or not known.alive or known.lost:
            return None
        plain = known.lines or (known.http and not known.param_headers.get(owned[1]))
        return (owned, known) if plain else None

    @property
    def connected(self) -> list[Upstream]:
        return [one for one in self._upstreams.values() if one.alive]

    def hide(self, found: list[str]) -> None:
        """No message to the client has these texts from now on."""
        for one in found:
            self.secrets[one] = None
            self.secrets.move_to_end(one)
        while len(self.secrets) > MOST_SECRETS:
            self.secrets.popitem(last=False)

    def shown(self, value: Any) -> Any:
        for one in self.sign_ins.values():
            self.hide(list(one.tokens))
        return without(self.secrets, value)

    async def close(self) -> None:
        for one in self.held.values():
            if one.task is not None:
                one.task.cancel()
        await asyncio.gather(*(one.stop() for one in self._upstreams.values()))

    async def exchange(
        self,
        upstream: Upstream,
        context: Any,
        params: Json,
        headers: Mapping[str, str],
        begun: Begun | None = None,
    ) -> Json:
        """Pass on a request that may ask its client for input, and return the result. ``begun``: the server has it."""
        made = begun.made if begun else Exchange(context)
        made.context, made.hand_over = context, None
        made.taken.set()
        first = begun.result() if begun else None
        if not self.client.modern:
            return await self._carried(made, upstream, params, headers, first)
        made.task = asyncio.create_task(self._carried(made, upstream, params, headers, first))
        return await self._advanced(made)

    async def resume(self, state: Json, context: Any, responses: Json) -> Json | None:
        """Go on with a call that waits for the client's answers; None if there is none (any more)."""
        made = self.held.pop(str(state.get(HELD)), None)
        if made is None:
            return None
        made.context = context
        made.answer(responses)
        return await self._advanced(made)

    async def _advanced(self, made: Exchange) -> Json:
        result = await made.next()
        if result is not None:
            return result
        self._give_up(MOST_HELD - 1)
        held = secrets.token_hex(16)
        self.held[held] = made
        made.held_at = time.monotonic()
        requests = {key: request for key, (request, _) in made.open.items()}
        return {
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": json.dumps({HELD: held}),
        }

    def _give_up(self, most: int) -> None:
        """End what was held for too long, and the oldest beyond ``most``."""
        late = time.monotonic() - HELD_SECONDS
        while self.held and (len(self.held) > most or next(iter(self.held.values())).held_at < late):
            _, given_up = self.held.popitem(last=False)
            if given_up.task is not None:
                given_up.task.cancel()

    async def _carried(
        self,
        made: Exchange,
        upstream: Upstream,
        params: Json,
        headers: Mapping[str, str],
        first: Awaitable[Json] | None,
    ) -> Json:
        """The server's final result. Raises the library's MCPError, without secrets."""
        self.begin(upstream.name, made)
        try:
            result = await self._rounds(made, upstream, params, headers, first)
        except MCPError as refused:
            error = refused.error
            raise MCPError(error.code, self.shown(error.message), self.shown(error.data)) from None
        finally:
            self.end(upstream.name, made)
        return self.shown(result)  # type: ignore[no-any-return]

    async def _rounds(
        self,
        made: Exchange,
        upstream: Upstream,
        params: Json,
        headers: Mapping[str, str],
        first: Awaitable[Json] | None,
    ) -> Json:
        """A server of 2026-07-28 that asks for input gets the call again, with the client's answers. ``first``: its
        result, if it has the call already.
        """
        meta = made.context.meta or {}

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            await self.progressed(made, progress, total, message)

        told = progressed if meta.get("progress_token", meta.get("progressToken")) is not None else None
        delay, sent = STATE_ONLY_SECONDS[0], params
        for _ in range(MOST_ROUNDS):
            given, first = first, None
            result = await (given or upstream.request(made.context.method, sent, headers=headers, on_progress=told))
            if not asks_for_input(result):
                return result
            asked = result.get("inputRequests") or {}
            sent = params | {name: result[name] for name in ("requestState",) if name in result}
            if asked:
                answers = await asyncio.gather(*(self._input(made, one) for one in asked.values()))
                sent["inputResponses"] = dict(zip(asked, answers, strict=True))
            else:
                await asyncio.sleep(delay)
                delay = min(delay * 2, STATE_ONLY_SECONDS[1])
        raise MCPError(INVALID_REQUEST, f"The server {upstream.name!r} asked for input too often.")

    async def progressed(self, made: Exchange, progress: float, total: float | None, message: str | None) -> None:
        """A server says how far it is with a request."""
        await made.context.session.report_progress(progress, total, self.shown(message))

    def begin(self, name: str, made: Exchange) -> None:
        """A server works on a request from now on, if it did not already."""
        if (name, made) not in self._exchanges:
            self._exchanges.append((name, made))

    def end(self, name: str, made: Exchange) -> None:
        if (name, made) in self._exchanges:
            self._exchanges.remove((name, made))

    async def _input(self, made: Exchange | None, asked: Json) -> Json:
        """What the client answers to a server's request."""
        method, params = str(asked.get("method")), self.shown(dict(asked.get("params") or {}))
        if not self.client.modern:
            if params.get("mode") == "url":
                params.setdefault("elicitationId", secrets.token_urlsafe(16))
            # In 2025-11-25 the server's request is one of the gateway's, on the stream of the request that it is for.
            session = made.context.session if made else self.session
            about = ServerMessageMetadata(related_request_id=made.context.request_id) if made else None
            answer: Answer = await session.send_request(Message(method=method, params=params), Answer, metadata=about)
            return answer.root
        if made is None or method not in INPUTS:
            raise MCPError(INVALID_REQUEST, f"This client cannot be asked for {method}.")
        if made.hand_over is not None:
            made.hand_over()
        params.pop("elicitationId", None)
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        await made.asked.put((method, params, future))
        return await future

    def _current(self, name: str) -> Exchange | None:
        """The request that a server's own request or notification is about, as far as one can know: its latest."""
        return next((one for server, one in reversed(self._exchanges) if server == name), None)

    def told(self, method: str, params: Json) -> Json:
        """What the client is told of a server's notification."""
        if method in EVENTS:
            self.names.clear()
        told: Json = self.shown(params)
        meta = told.get("_meta")
        if isinstance(meta, dict) and SUBSCRIPTION_META in meta:
            told = {**told, "_meta": {name: value for name, value in meta.items() if name != SUBSCRIPTION_META}}
        return told

    async def _notified(self, name: str, method: str, params: Json) -> None:
        event, made, params = EVENTS.get(method), self._current(name), self.told(method, params)
        if self.client.modern:
            if method == "notifications/resources/updated":
                event = ResourceUpdated(uri=str(params.get("uri")))
            if event is not None:
                await self.bus.publish(event)
                return
            wants_log = made and (made.context.params or {}).get("_meta", {}).get(LOG_LEVEL_META)
            if made is None or (method == "notifications/message" and not wants_log):
                return
        elif event is not None:
            made = None
        related = made.context.request_id if made else None
        session = made.context.session if made else self.session
        with suppress(MCPError):
            await session.send_notification(Message(method=method, params=params or None), related)
