"""Remote MCP servers that an agent names by their address: whether it may, and where their people sign in."""

from __future__ import annotations

from elicit_flows import vault
from elicit_flows.domain.errors import Forbidden, Invalid, ProviderUnavailable
from elicit_flows.kinds.oauth import mcp_server
from elicit_flows.kinds.oauth.provider import SWITCHED_OFF
from elicit_flows.models import Agent, Elicitation, Provider


def check_asked(agent: Agent, url: str) -> Provider | None:
    """The server's row, or None if nobody has gone there yet. Raises Invalid if the agent may not ask for it."""
    if not mcp_server.is_allowed(url, agent.mcp_servers):
        raise Invalid.at("params.mcp", "This is not the host of an MCP server that this agent may use.")
    known = vault.known_mcp_server(url)
    if known and not known.enabled:
        raise Invalid.at("params.mcp", "This MCP server is switched off by those who run this service.")
    return known


def found(row: Elicitation) -> Provider:
    """The server that is asked for, as it is now; takes at most 25 seconds. Raises Forbidden, ProviderUnavailable."""
    url: str = row.params["mcp"]
    if not mcp_server.is_allowed(url, row.agent.mcp_servers):
        raise Forbidden("Those who run this service do not allow this MCP server any more.", elicitation=row.pk)
    provider = vault.discover_mcp_server(url)
    if not provider.enabled:
        raise ProviderUnavailable(SWITCHED_OFF)
    return provider
