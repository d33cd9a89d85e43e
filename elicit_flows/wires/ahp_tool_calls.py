"""AHP since 0.6: a tool call of an MCP server that pauses until an account is connected, and then continues.

Reducers accept these only for calls that an MCP server contributed. The connection stays with the service: no client is
asked for a token.
"""

from __future__ import annotations

from collections.abc import Iterable

from elicit_flows.domain.values import Json


def auth_required(turn: str, tool_call: str, resource: str, *, scopes: Iterable[str] = (), message: str = "") -> Json:
    """``chat/toolCallAuthRequired``. ``resource`` identifies the MCP server (RFC 8707).

    Its metadata names no authorization server, so that no client tries to get a token of its own.
    """
    auth: Json = {"reason": "required", "resource": {"resource": resource, "authorization_servers": []}}
    auth |= {"requiredScopes": list(scopes)} if scopes else {}
    auth |= {"description": message} if message else {}
    return {"type": "chat/toolCallAuthRequired", "turnId": turn, "toolCallId": tool_call, "auth": auth}


def auth_resolved(turn: str, tool_call: str) -> Json:
    """``chat/toolCallAuthResolved``: the call continues. It says nothing about the connection."""
    return {"type": "chat/toolCallAuthResolved", "turnId": turn, "toolCallId": tool_call}
