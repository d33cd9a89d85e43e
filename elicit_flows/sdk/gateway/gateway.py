"""The gateway as middleware of a server without tools of its own: what a client sends goes to the servers behind it."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    InputResponseRequestParams,
    SubscriptionsListenRequestParams,
)
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import BaseModel

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.config import AUTHORIZATION, Config
from elicit_flows.sdk.gateway.fast_http import BEGUN, caller
from elicit_flows.sdk.gateway.fast_stdio import FastStdio
from elicit_flows.sdk.gateway.file_guards import WITH_TOKEN, Asked, Put, own
from elicit_flows.sdk.gateway.forwarded import Forwarded
from elicit_flows.sdk.gateway.listing import LISTS, NOT_PASSED_ON, Listing
from elicit_flows.sdk.gateway.names import covers
from elicit_flows.sdk.gateway.peers import HELD, LINKS_NEEDED, Peers
from elicit_flows.sdk.gateway.upstream import StartError
from elicit_flows.sdk.gateway.wire import CAPABILITIES_META, CLIENT_META, VERSION_META, Client, is_modern, result_for
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.guard import Guard
from elicit_flows.sdk.mcp.messages import waiting_for
from elicit_flows.sdk.outcomes import Completed

IDLE_SECONDS = 1800.0
MOST_CLIENTS = 100
MOST_OF_A_USER = 20
OWN = ("initialize", "server/discover", "ping")
GUARDABLE = {"tools/call": "tools", "prompts/get": "prompts", "resources/read": "resources"}
OF_THE_GATEWAY = ("inputResponses", "requestState", "task")  # members of a request that no server gets
RESOURCE_NOT_FOUND = -32002
NO_TASKS = "The gateway passes on no tasks. Call the tool without one: its answer comes when it is done."
NOT_TAKEN = "Server returned an error response"  # the library's words for an answer that is an HTTP error
LACKS = "The server {!r} does not take this user's token: it lacks the scopes {}."
GONE = "This call is not known any more, because the gateway was restarted meanwhile. Call the tool again."
Next = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class Gateway:
    """``askers``: by server, what its guards share. ``listing``: what the servers have, as found at the start."""

    config: Config
    askers: Mapping[str, Asker]
    listing: Listing
    asks: dict[tuple[str, str, str], tuple[Asked, ...]] = field(default_factory=dict)
    app: MCPServer[Any] | None = None
    fast_stdio: FastStdio = field(init=False)
    _peers: dict[str, Peers] = field(default_factory=dict)
    _latest: tuple[Any, str] = (None, "")

    def __post_init__(self) -> None:
        self.fast_stdio = FastStdio(self.known, lambda server, tool: self.asked("tools", server, tool))
        for name, section in self.config.servers.items():
            self.asks |= {(kind, name, guarded): asked for (kind, guarded), asked in section.guards.items()}

    async def __call__(self, ctx: Any, call_next: Next) -> Any:
        """See the library's ``ServerMiddleware``."""
        context, method = ctx, ctx.method
        if method in OWN:
            result = await call_next(context)
            return result if method == "ping" else self._introduced(result)
        if context.request_id is None:
            if method == "notifications/roots/list_changed":
                peers = await self._of(context)
                for one in peers.connected:
                    await one.notify(method, dict(context.params or {}))
            return await call_next(context)
        if context.session.client_params is None and not is_modern(context.protocol_version):
            raise MCPError(INVALID_PARAMS, "Initialize the session first.")
        peers = await self._of(context)
        if method == "subscriptions/listen":
            return await self._listen(peers, context)
        try:
            with peers.at_work():
                result = await self._answer(peers, context)
        except StartError as failed:
            raise MCPError(INTERNAL_ERROR, peers.shown(str(failed))) from failed
        return result_for(context.protocol_version, method, result)

    @property
    def server(self) -> MCPServer[Any]:
        if self.app is None:
            raise RuntimeError("The gateway is not served.")
        return self.app

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._peers.values()))

    def asked(self, kind: str, server: str, name: str) -> tuple[Asked, ...]:
        """What is asked before a tool runs, or a prompt or resource is given; that of ``*`` if the file does not name
        it. Other spellings of a guarded URI, and what a guarded template has, are guarded too.
        """
        found = self.asks.get((kind, server, name))
        if found is None and kind == "resources":
            alike = (
                asked
                for (of, has, uri), asked in self.asks.items()
                if (of, has) == (kind, server) and uri != "*" and asked and covers(uri, name)
            )
            found = next(alike, None)
        return self.asks.get((kind, server, "*"), ()) if found is None else found

    def _introduced(self, result: Any) -> Json:
        told: Json = result.model_dump(by_alias=True, mode="json") if isinstance(result, BaseModel) else dict(result)
        told["capabilities"] = self.listing.capabilities
        if self.listing.instructions:
            told["instructions"] = self.listing.instructions
        return told

    async def _answer(self, peers: Peers, context: Any) -> Json:
        method, params = context.method, dict(context.params or {})
        if method in LISTS:
            return await self.listing.shown(peers, method, self.asked)
        if method in GUARDABLE:
            return await self._links(peers, context, self._given(peers, context, params))
        if method == "logging/setLevel":
            for name in self.listing.having("logging"):
                await (await peers.upstream(name)).request(method, params)
            return {}
        return await self._routed(peers, context, method, params)

    async def _routed(self, peers: Peers, context: Any, method: str, params: Json) -> Json:
        """What one of the servers answers: that which has the prompt or resource, or the only one."""
        if method == "completion/complete":
            ref = dict(params.get("ref") or {})
            if "uri" in ref:
                return dict(await self._of_resource(peers, context, params))
            server, ref["name"] = await self._owner(peers, "prompts/list", ref)
            return await self._passed(peers, server, context, {**params, "ref": ref})
        if "uri" in params and method.startswith("resources/"):
            return dict(await self._of_resource(peers, context, params))
        if method.startswith("tasks/"):
            raise MCPError(METHOD_NOT_FOUND, NO_TASKS, method)
        if len(self.config.servers) == 1:
            return await self._passed(peers, next(iter(self.config.servers)), context, params)
        raise MCPError(METHOD_NOT_FOUND, "Method not found", method)

    async def _given(self, peers: Peers, context: Any, params: Json) -> Any:
        """What a tool, prompt or resource gives, once what it needs was asked."""
        begun: Any = getattr(context.request, "scope", {}).get(BEGUN)
        begun = begun or self.fast_stdio.handed.pop(context.request_id, None)
        if begun is not None:
            return await peers.exchange(begun.upstream, context, {**params, "name": begun.owned[1]}, {}, begun)
        state = _held_state(params)
        if HELD in state:
            result = await peers.resume(state, context, dict(params.get("inputResponses") or {}))
            if result is None:
                raise MCPError(INVALID_PARAMS, GONE)
            return result
        params = {name: value for name, value in params.items() if name not in OF_THE_GATEWAY}
        if context.method == "resources/read":
            return await self._of_resource(peers, context, params)
        kind = GUARDABLE[context.method]
        owned = await self._owner(peers, f"{kind}/list", params)
        return await self._guarded(peers, context, kind, owned, {**params, "name": owned[1]})

    async def _guarded(self, peers: Peers, context: Any, kind: str, owned: tuple[str, str], params: Json) -> Any:
        """Ask what the file says, if anything, and pass on the request with what that brought."""
        asked = self.asked(kind, *owned)
        if not asked:
            return await self._passed(peers, owned[0], context, params)
        asker = self.askers[owned[0]]
        member = "arguments" if kind != "resources" else ""
        arguments = own(dict(params.get(member) or {}), asked) if member else {"uri": params["uri"]}

        section = self.config.servers[owned[0]]

        async def send(arguments: Json, outcomes: list[Completed]) -> Json:
            """A call that was certainly not run, because its token was refused, is sent once more with a new token."""
            given, again = list(zip(asked, outcomes, strict=True)), False
            while True:
                put, upstream = Put(dict(arguments)), None
                for one, done in given:
                    await one.put(asker.elicit(), done, put, section.url)
                peers.hide(put.secrets)
                signed = {name: value for name, value in put.headers.items() if name.lower() == AUTHORIZATION}
                sent = {**params, **({member: put.arguments} if member else {})}
                try:
                    upstream = await peers.upstream(owned[0], signed if section.signs_in else put.env)
                    return await peers.exchange(upstream, context, sent, put.headers)
                except (MCPError, StartError) as failed:
                    lacks = upstream.lacks.pop(owned[1], ()) if upstream else ()
                    if lacks and isinstance(failed, MCPError) and failed.error.message == NOT_TAKEN:
                        said = LACKS.format(owned[0], " ".join(lacks))
                        raise MCPError(INVALID_REQUEST, peers.shown(said)) from failed
                    status = failed.status if isinstance(failed, StartError) else upstream.refused if upstream else 0
                    tokens = [done for one, done in given if one.kind in WITH_TOKEN and one.place.header]
                    if again or status != HTTPStatus.UNAUTHORIZED or not tokens:
                        raise
                    for done in tokens:
                        await asker.elicit().report(done)
                    if isinstance(failed, MCPError) and failed.error.message != NOT_TAKEN:
                        raise  # the status may be that of another call of this user
                    again = True

        schema = "outputSchema" in peers.schemas.get(owned, {})
        name = owned if kind == "tools" else (owned[0], kind, owned[1])
        forwarded = Forwarded.to(name, send, schema=kind == "tools" and schema)
        guard = Guard(forwarded, asker, tuple((asker, one) for one in asked))
        return await guard.call(self._context(peers, context), arguments)

    async def _links(self, peers: Peers, context: Any, result: Awaitable[Any]) -> Json:
        """A result as JSON. A server's own -32042 is in words for clients that must not see it."""
        try:
            given = await result
        except MCPError as refused:
            if refused.error.code != LINKS_NEEDED or not is_modern(context.protocol_version):
                raise
            links = [one.get("url", "") for one in (refused.error.data or {}).get("elicitations", [])]
            call = Call(self._context(peers, context))
            given = call.answer(waiting_for(refused.error.message, links), text=False, structured=False)
        if isinstance(given, BaseModel):
            return given.model_dump(by_alias=True, mode="json", exclude_none=True)
        return dict(given)

    def _context(self, peers: Peers, context: Any) -> Context[Any, Any]:
        """What the guards get from the library otherwise."""
        given = InputResponseRequestParams.model_validate(context.params, by_name=False)
        return Context(request_context=context, mcp_server=self.app, input_params=given, subscriptions=peers.bus)

    async def _passed(self, peers: Peers, server: str, context: Any, params: Json) -> Json:
        return await peers.exchange(await peers.upstream(server), context, params, {})

    async def _owner(self, peers: Peers, lists: str, params: Json) -> tuple[str, str]:
        """The server that has the tool or prompt, and its own name for it. What no server lists is not passed on, so
        that no spelling of a name that a server takes as well goes around a guard.
        """
        name = params.get("name")
        found = peers.names.get(lists, {}).get(str(name))
        if found is None:
            await self.listing.shown(peers, lists, self.asked)
            found = peers.names[lists].get(str(name))
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown {lists.split('s/', maxsplit=1)[0]}: {name}")
        return found

    async def _of_resource(self, peers: Peers, context: Any, params: Json) -> Any:
        """From the server that lists it, or the first that has it."""
        uri = params["uri"] if "uri" in params else params["ref"].get("uri")
        if not isinstance(uri, str):
            raise MCPError(INVALID_PARAMS, "Invalid request parameters", "")
        having, reads = self.listing.having("resources"), context.method == "resources/read"
        if len(having) > 1:
            having = await self.listing.with_resource(peers, having, uri)
        for at, server in enumerate(having, start=1):
            if reads and self.asked("resources", server, uri):
                return await self._guarded(peers, context, "resources", (server, uri), params)
            try:
                if reads and any(key[:2] == ("resources", server) for key in self.asks):
                    await self._need_listed(peers, server, uri)
                return await self._passed(peers, server, context, params)
            except MCPError:
                if at == len(having):
                    raise
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)

    async def _need_listed(self, peers: Peers, server: str, uri: str) -> None:
        """As for tools: where some are guarded, what is not listed is not passed on."""
        if not await self.listing.has_resource(peers, server, uri):
            raise MCPError(RESOURCE_NOT_FOUND, f"The server {server!r} lists no resource {uri}")

    async def _listen(self, peers: Peers, context: Any) -> Any:
        params = SubscriptionsListenRequestParams.model_validate(context.params, by_name=False)
        with peers.at_work():
            for name in self.config.servers:
                upstream = await peers.upstream(name)  # what changes there is heard only by who is connected
                able = (upstream.capabilities.get("resources") or {}).get("subscribe")
                if able and not is_modern(upstream.version) and name in self.listing.having("resources"):
                    for uri in params.notifications.resource_subscriptions or ():
                        await upstream.request("resources/subscribe", {"uri": uri})
        return await peers.listen(context, params)

    def known(self, meta: Json, session: str = "") -> Peers | None:
        """A client's connections, by the ``_meta`` of a request of its and its session. None if the library has not yet
        accepted one like it.
        """
        modern = VERSION_META in meta
        if modern and meta[VERSION_META] != LATEST_MODERN_VERSION:
            return None
        about = (meta.get(CLIENT_META), meta.get(CAPABILITIES_META)) if modern else session, caller()
        if about != self._latest[0]:  # a client says the same of itself with each request
            self._latest = about, _key(meta if modern else None, about[1], "" if modern else session)
        return self._peers.get(self._latest[1])

    async def _of(self, context: Any) -> Peers:
        """The connections of this client. No two users share one, and no two sessions."""
        modern = is_modern(context.protocol_version)
        meta = (context.params or {}).get("_meta") or {}
        if modern:
            info, capabilities = meta.get(CLIENT_META) or {}, meta.get(CAPABILITIES_META) or {}
        else:
            known = context.session.client_params
            info = known.client_info.model_dump(by_alias=True, mode="json", exclude_none=True) if known else {}
            capabilities = known.capabilities.model_dump(by_alias=True, mode="json", exclude_none=True) if known else {}
        session = getattr(context.request, "headers", {}).get("mcp-session-id", "")
        known_as = caller()
        user = known_as[:2]  # by whichever client of the identity provider
        key = _key(meta if modern else None, known_as, session)
        peers = self._peers.get(key)
        if peers is None:
            await self._make_room(user)
            able = {name: value for name, value in capabilities.items() if name not in NOT_PASSED_ON}
            made = Peers(
                self.config, Client(info, able, modern), context.session, self.fast_stdio.hear, self.listing.sign_ins
            )
            made.user = user
            peers = self._peers.setdefault(key, made)
        peers.session, peers.used_at = context.session, time.monotonic()
        return peers

    async def _make_room(self, user: Sequence[Any]) -> None:
        """The library does not say when a session has ended. Those that were not used for long are closed, and if
        there are many, those that were not used for the longest time: the user's own first, since a user can name any
        number of programs. Those who have not signed in are one user here. Raises MCPError if too many of theirs are
        at work.
        """
        idle = sorted((one.used_at, key) for key, one in self._peers.items() if one.idle())
        await self._close(idle, len(idle), time.monotonic() - IDLE_SECONDS)
        most = MOST_OF_A_USER if user else MOST_CLIENTS
        theirs = {key for key, one in self._peers.items() if one.user == user}
        await self._close([(used, key) for used, key in idle if key in theirs], len(theirs) + 1 - most)
        await self._close(idle, len(self._peers) + 1 - MOST_CLIENTS)
        if sum(one.user == user for one in self._peers.values()) >= most:
            whose = "You have" if user else "There are"
            raise MCPError(INVALID_REQUEST, f"{whose} too many clients at work here: wait for one of them.")

    async def _close(self, idle: list[tuple[float, str]], most: int, before: float = math.inf) -> None:
        """Close at most ``most`` of these clients, and none that has begun a call meanwhile."""
        for used, key in idle:
            found = self._peers.get(key)
            if most > 0 and used < before and found is not None and found.idle():
                most -= 1
                await self._peers.pop(key).close()


def _key(modern: Json | None, user: Sequence[Any], session: str) -> str:
    """What tells clients apart. ``modern``: the ``_meta`` of a request of 2026-07-28, which has no session."""
    about = [modern.get(CLIENT_META) or {}, modern.get(CAPABILITIES_META) or {}] if modern is not None else session
    return json.dumps([modern is not None, user, about], sort_keys=True)


def _held_state(params: Json) -> Json:
    """What the gateway put into ``requestState``, which the library has unsealed."""
    try:
        state = json.loads(params.get("requestState") or "{}")
    except (TypeError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
