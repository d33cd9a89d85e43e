"""The example's server with what MCP's conformance suite wants to find besides.

python -m tests.sdk.mcp.conformance.server PORT ISS SUB
"""

import sys
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.types import EmptyResult, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams

from examples.mcp_server import server
from tests.sdk.mcp.conformance.asking import add_asking
from tests.sdk.mcp.conformance.contents import add_contents
from tests.sdk.mcp.conformance.events import RETRY_MS, Events, add_reconnection
from tests.sdk.mcp.conformance.flows import add_flows

OF_2025 = {
    "logging/setLevel": SetLevelRequestParams,
    "resources/subscribe": SubscribeRequestParams,
    "resources/unsubscribe": UnsubscribeRequestParams,
}


async def taken_note_of(context: Any, params: Any) -> EmptyResult:
    return EmptyResult()


def conformance_server(port: int, user: tuple[str, str]) -> MCPServer:
    app = server(port, user)
    add_contents(app)
    add_asking(app)
    add_flows(app, user)
    add_reconnection(app)
    for method, params in OF_2025.items():
        # The library has no public way to serve these three.
        app._lowlevel_server.add_request_handler(method, params, taken_note_of)
    return app


if __name__ == "__main__":
    port, issuer, subject = sys.argv[1:]
    app = conformance_server(int(port), (issuer, subject)).streamable_http_app(
        event_store=Events(), retry_interval=RETRY_MS
    )
    # The parser of HTTP that mcp brings along. uvicorn's other one leaves the spaces behind a header's value.
    uvicorn.run(app, host="127.0.0.1", port=int(port), http="h11")
