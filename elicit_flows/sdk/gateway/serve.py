"""Runs the gateway: on stdio, or on HTTP if the file says so."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import uvicorn
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from elicit_flows import __version__
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.gateway.config import PATH, Config, ListenSection
from elicit_flows.sdk.gateway.fast_http import App, FastHttp, Receive, Scope, Send
from elicit_flows.sdk.gateway.gateway import Gateway
from elicit_flows.sdk.gateway.lines import messages, own_pipes, piped
from elicit_flows.sdk.gateway.listing import Listing, check_names
from elicit_flows.sdk.gateway.names import exposed
from elicit_flows.sdk.gateway.signed_in import SignedTokens
from elicit_flows.sdk.mcp.changes import Changes
from elicit_flows.sdk.mcp.context import Asker, LazyClient
from elicit_flows.sdk.mcp.followers import Followers
from elicit_flows.sdk.mcp.listing import HiddenUntil
from elicit_flows.sdk.mcp.sealing import state_key
from elicit_flows.sdk.mcp.settings import Settings


async def serve(config: Config, *, check: bool = False) -> None:
    """Serve until the client is gone or the process is stopped. ``check``: only look whether the file fits the servers.

    Raises ConfigError, StartError, the library's MCPError, and ElicitError ``no_api_key``.
    """
    key = config.api_key
    state = state_key(key)  # before a server is started, so that a missing key is said at once
    listing = Listing(config)
    await listing.survey()
    check_names(config, listing)
    if check:
        return
    async with Elicit(config.service.url, key) as elicit:
        parts = config.by_path if config.listen else {PATH: config}
        gateways = {path: _gateway(part, replace(listing, config=part), elicit, state) for path, part in parts.items()}
        try:
            if config.listen is not None:
                await serve_http(gateways, config.listen)
            elif piped():
                lines, server = gateways[PATH].fast_stdio.client, gateways[PATH].server._lowlevel_server
                async with own_pipes(lines), messages(lines) as streams:
                    await server.run(*streams, server.create_initialization_options())
            else:
                await gateways[PATH].server.run_stdio_async()
        finally:
            await asyncio.gather(*(one.close() for one in gateways.values()))


async def serve_http(gateways: Mapping[str, Gateway], listen: ListenSection) -> None:
    """Each path is an application of the library's, with the tokens that it takes."""
    apps = {}
    for path, gateway in gateways.items():
        app = apps[path] = gateway.server.streamable_http_app(streamable_http_path=path, host=listen.host)
        for route in app.routes:
            if isinstance(route, Route) and route.path == path:
                route.app = FastHttp(route.app, gateway.known, partial(gateway.asked, "tools"))
    # What is said of an address (RFC 9728) has a path too.
    by_path: dict[str, App] = {
        route.path: app for app in apps.values() for route in app.routes if isinstance(route, Route)
    }
    nothing = PlainTextResponse("Not Found", status_code=404)

    async def found(scope: Scope, receive: Receive, send: Send) -> None:
        # One of uvicorn's two parsers leaves the spaces behind a value, and the library compares values.
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        await by_path.get(scope["path"], nothing)(scope, receive, send)

    async with AsyncExitStack() as running:
        for app in apps.values():
            await running.enter_async_context(app.router.lifespan_context(app))
        config = uvicorn.Config(found, listen.host, listen.port, log_level="warning", lifespan="off", ws="none")
        await uvicorn.Server(config).serve()


def _gateway(config: Config, listing: Listing, elicit: Elicit, state: bytes) -> Gateway:
    """``config``: the file, or what of it is at one address."""
    asked = LazyClient(elicit)
    shared = Asker(asked, Settings(server=config.name, **config.settings.given), Followers(), Changes(asked))
    askers = {
        name: replace(shared, settings=replace(shared.settings, user=config.user_of(name))) for name in config.servers
    }
    listen, signed_in = config.listen, dict[str, Any]()
    if listen is not None and listen.issuer is not None and listen.resource is not None:
        about = {"issuer_url": listen.issuer, "resource_server_url": listen.resource, "validate_token_resource": False}
        signed_in["token_verifier"] = SignedTokens(listen.issuer, listen.resource)
        signed_in["auth"] = AuthSettings.model_validate(about)
    gateway = Gateway(config, askers, listing)
    gateway.app = MCPServer(
        config.name,
        version=__version__,
        request_state_security=RequestStateSecurity(keys=[state]),
        middleware=[*_hiding(config, listing, askers), gateway],
        log_level="WARNING",
        **signed_in,
    )
    return gateway


def _hiding(config: Config, listing: Listing, askers: Mapping[str, Asker]) -> list[Any]:
    """``hidden_until`` of the file, under the names that clients see."""
    by_server = {name: listing.names[name, "tools"] for name in config.servers}
    shown = exposed(by_server, [name for name, section in config.servers.items() if section.prefix])
    return [
        HiddenUntil(
            askers[server], provider, [name for name, (of, own) in shown.items() if of == server and own in tools]
        )
        for server, section in config.servers.items()
        for provider, tools in section.hidden_until.items()
    ]
