"""Guards for the tools of an MCP server: one decorator, for clients of revision 2025-11-25 and of 2026-07-28. And
``transport``, for a client that calls somebody else's server with a user's connection.

    from elicit_flows.sdk import mcp as mcp_flows

    @server.tool()
    @mcp_flows.oauth("acme")
    async def list_files(account: Completed) -> str: ...

These decorators belong to an ``McpFlows()`` with default settings; make your own to change them. Both ``mcp`` 1.30 and
``mcp`` 2.x work: the version that the server uses is taken.
"""

from elicit_flows.sdk.mcp.ask import Ask
from elicit_flows.sdk.mcp.flows import McpFlows
from elicit_flows.sdk.mcp.identity import NoUser
from elicit_flows.sdk.mcp.remote import ConnectionAuth, transport
from elicit_flows.sdk.mcp.sealing import state_key
from elicit_flows.sdk.mcp.settings import Settings

_flows = McpFlows()

oauth = _flows.oauth
payment = _flows.payment
credentials = _flows.credentials
form = _flows.form
confirm = _flows.confirm
url_action = _flows.url_action
steps = _flows.steps
ask = _flows.ask
guard = _flows.guard
tool = _flows.tool

__all__ = [
    "Ask",
    "ConnectionAuth",
    "McpFlows",
    "NoUser",
    "Settings",
    "ask",
    "confirm",
    "credentials",
    "form",
    "guard",
    "oauth",
    "payment",
    "state_key",
    "steps",
    "tool",
    "transport",
    "url_action",
]
