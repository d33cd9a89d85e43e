"""The gateway on HTTP: each address is an application of the library's, with the tokens that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from elicit_flows.sdk.gateway.config import ListenSection
from elicit_flows.sdk.gateway.fast_http import App, FastHttp, Receive, Scope, Send
from elicit_flows.sdk.gateway.gateway import Gateway


async def serve_http(gateways: Mapping[str, Gateway], listen: ListenSection) -> None:
    """Serve until the process is stopped. ``gateways``: by path."""
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
