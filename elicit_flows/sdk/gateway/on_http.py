"""The gateway on HTTP: each address is a server of the library's, and all of them are one application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.routing import Route

from elicit_flows.sdk.gateway.config import ListenSection


async def serve_http(servers: Mapping[str, MCPServer[Any]], listen: ListenSection) -> None:
    """Serve until the process is stopped. ``servers``: by path."""
    config = uvicorn.Config(application(servers, listen.host), listen.host, listen.port, log_level="warning")
    await uvicorn.Server(config).serve()


def application(servers: Mapping[str, MCPServer[Any]], host: str) -> Starlette:
    """Each address checks its own tokens, and says for itself which ones it takes (RFC 9728)."""
    apps = [one.streamable_http_app(streamable_http_path=path, host=host) for path, one in servers.items()]

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as all_:
            for app in apps:
                await all_.enter_async_context(app.router.lifespan_context(app))
            yield

    routes = [Route(one.path, app) for app in apps for one in app.routes if isinstance(one, Route)]
    return Starlette(routes=routes, lifespan=running)
