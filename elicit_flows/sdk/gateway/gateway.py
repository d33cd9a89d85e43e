"""The gateway as middleware of a server without tools of its own: what a client sends goes to the servers behind it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    SubscriptionsListenRequestParams,
)
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import BaseModel

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.config import Config, ConfigError
from elicit_flows.sdk.gateway.file_guards import Asked, Put, own
from elicit_flows.sdk.gateway.forwarded import Forwarded
from elicit_flows.sdk.gateway.listing import LISTS, Listing
from elicit_flows.sdk.gateway.peers import HELD, LINKS_NEEDED, Peers
from elicit_flows.sdk.gateway.quick import Quick
from elicit_flows.sdk.gateway.upstream import Client, StartError
from elicit_flows.sdk.gateway.wire import CAPABILITIES_META, CLIENT_META, VERSION_META, is_modern, result_for
from elicit_flows.sdk.mcp.calls import Call
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.guard import Guard
from elicit_flows.sdk.mcp.messages import waiting_for
from elicit_flows.sdk.outcomes import Completed

IDLE_SECONDS = 1800.0
MOST_CLIENTS = 100
OWN = ("initialize", "server/discover", "ping")
GONE = "This call is not known any more, because the gateway was restarted meanwhile. Call the tool again."
Next = Callable[[Any], Awaitable[Any]]


@dataclass(slots=True)
class Gateway:
    """``asker``: what the guards share. ``listing``: what the servers have, as found at the start."""

    config: Config
    asker: Asker
    listing: Listing
    asks: dict[tuple[str, str], tuple[Asked, ...]] = field(default_factory=dict)
    app: MCPServer[Any] | None = None
    quick: Quick = field(init=False)
    _peers: dict[str, Peers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.quick = Quick(self.known, self.asked)
        for name, section in self.config.servers.items():
            self.asks |= {(name, tool): asked for tool, asked in section.guards.items()}

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
            result = await self._answer(peers, context)
        except StartError as failed:
            raise MCPError(INTERNAL_ERROR, str(failed)) from failed
        return result_for(context.protocol_version, method, result)

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._peers.values()))

    def asked(self, server: str, tool: str) -> tuple[Asked, ...]:
        """What is asked before a tool runs; that of ``*`` if the file does not name the tool."""
        return self.asks.get((server, tool), self.asks.get((server, "*"), ()))

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
        if method == "tools/call":
            return await self._call(peers, context, params)
        if method == "logging/setLevel":
            for name in self.listing.having("logging"):
                await (await peers.upstream(name)).request(method, params)
            return {}
        return await self._routed(peers, context, method, params)

    async def _routed(self, peers: Peers, context: Any, method: str, params: Json) -> Json:
        """What one of the servers answers: that which has the prompt or resource, or the only one."""
        if method == "prompts/get":
            server, name = await self._owner(peers, "prompts/list", params)
            return await self._passed(peers, server, context, {**params, "name": name})
        if method == "completion/complete":
            return await self._complete(peers, context, params)
        if "uri" in params and method.startswith("resources/"):
            return await self._of_resource(peers, context, params)
        if len(self.config.servers) == 1:
            return await self._passed(peers, next(iter(self.config.servers)), context, params)
        raise MCPError(METHOD_NOT_FOUND, "Method not found", method)

    async def _call(self, peers: Peers, context: Any, params: Json) -> Json:
        begun = self.quick.handed.pop(context.request_id, None)
        if begun is not None:
            params["name"] = begun.owned[1]
            return await self._links(peers, context, peers.exchange(begun.upstream, context, params, {}, begun))
        state = _held_state(params)
        if HELD in state:
            result = await peers.resume(state, context, dict(params.get("inputResponses") or {}))
            if result is None:
                raise MCPError(INVALID_PARAMS, GONE)
            return result
        owned = await self._owner(peers, "tools/list", params)
        asked = self.asked(*owned)
        arguments = dict(params.get("arguments") or {})
        params = {
            name: value for name, value in params.items() if name not in ("inputResponses", "requestState", "task")
        }
        params["name"] = owned[1]
        if not asked:
            return await self._links(peers, context, self._passed(peers, owned[0], context, params))
        arguments = own(arguments, asked)

        async def send(arguments: Json, outcomes: list[Completed]) -> Json:
            put = Put(dict(arguments))
            for one, done in zip(asked, outcomes, strict=True):
                await one.put(self.asker.elicit(), done, put, self.config.servers[owned[0]].url)
            peers.hide(put.secrets)
            upstream = await peers.upstream(owned[0], put.env)
            return await peers.exchange(upstream, context, {**params, "arguments": put.arguments}, put.headers)

        schema = "outputSchema" in peers.schemas.get(owned, {})
        guard = Guard(Forwarded.to(owned, send, schema=schema), self.asker, tuple((self.asker, one) for one in asked))
        return await self._links(peers, context, guard.call(self._context(peers, context), arguments))

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
        given = CallToolRequestParams.model_validate(context.params, by_name=False)
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

    async def _complete(self, peers: Peers, context: Any, params: Json) -> Json:
        ref = dict(params.get("ref") or {})
        if "uri" in ref:
            return await self._of_resource(peers, context, params)
        server, ref["name"] = await self._owner(peers, "prompts/list", ref)
        return await self._passed(peers, server, context, {**params, "ref": ref})

    async def _of_resource(self, peers: Peers, context: Any, params: Json) -> Json:
        """From the server that lists it, or the first that has it."""
        having = self.listing.having("resources")
        if len(having) > 1:
            uri = str(params.get("uri") or params["ref"].get("uri"))
            having = await self.listing.with_resource(peers, having, uri)
        for at, server in enumerate(having, start=1):
            try:
                return await self._passed(peers, server, context, params)
            except MCPError:
                if at == len(having):
                    raise
        raise MCPError(METHOD_NOT_FOUND, "Method not found", context.method)

    async def _listen(self, peers: Peers, context: Any) -> Any:
        params = SubscriptionsListenRequestParams.model_validate(context.params, by_name=False)
        for name in self.config.servers:
            upstream = await peers.upstream(name)  # what changes there is heard only by who is connected
            if name in self.listing.having("resources"):
                for uri in params.notifications.resource_subscriptions or ():
                    await upstream.watch(uri)
        return await peers.listen(context, params)

    def known(self, meta: Json) -> Peers | None:
        """The connections of the client on stdio, by the ``_meta`` of a request of its. None if the library has not yet
        accepted one like it.
        """
        modern = VERSION_META in meta
        if modern and meta[VERSION_META] != LATEST_MODERN_VERSION:
            return None
        return self._peers.get(_key(meta if modern else None, [], ""))

    async def _of(self, context: Any) -> Peers:
        """The connections of this client. No two users share one, and no two sessions."""
        token = get_access_token()
        user = [(token.claims or {}).get("iss"), token.subject, token.client_id] if token else []
        modern = is_modern(context.protocol_version)
        meta = (context.params or {}).get("_meta") or {}
        if modern:
            info, capabilities = meta.get(CLIENT_META) or {}, meta.get(CAPABILITIES_META) or {}
        else:
            known = context.session.client_params
            info = known.client_info.model_dump(by_alias=True, mode="json", exclude_none=True) if known else {}
            capabilities = known.capabilities.model_dump(by_alias=True, mode="json", exclude_none=True) if known else {}
        session = getattr(context.request, "headers", {}).get("mcp-session-id", "")
        key = _key(meta if modern else None, user, session)
        peers = self._peers.get(key)
        if peers is None:
            await self._close_idle()
            client = Client(info, capabilities, modern)
            peers = self._peers.setdefault(key, Peers(self.config, client, context.session, self.quick.hear))
        peers.session, peers.used_at = context.session, time.monotonic()
        return peers

    async def _close_idle(self) -> None:
        """The library does not say when a session has ended. Those that were not used for long are closed, and if
        there are many, those that were not used for the longest time.
        """
        idle = sorted((one.used_at, key) for key, one in self._peers.items() if one.idle())
        late = time.monotonic() - IDLE_SECONDS
        surplus = max(0, len(self._peers) + 1 - MOST_CLIENTS)
        for at, (used, key) in enumerate(idle):
            found = self._peers.get(key)
            if found is not None and found.idle() and (used < late or at < surplus):
                await self._peers.pop(key).close()


def _key(modern: Json | None, user: list[Any], session: str) -> str:
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


def check_tools(config: Config, listing: Listing) -> None:
    """Raises ConfigError for a guard of a tool that its server does not list: it may be misspelled."""
    wrong = [
        f"servers.{name}.tools.{tool}: The server lists no such tool, but {', '.join(sorted(listing.tools[name]))}."
        for name, section in config.servers.items()
        for tool in section.tools
        if tool != "*" and tool not in listing.tools[name]
    ]
    if wrong:
        raise ConfigError("\n".join(wrong))
