"""Tools that are not listed for a user until an account of theirs is connected. They can be called all the same."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token

from elicit_flows.domain.values import Claim
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.mcp.calls import FASTMCP
from elicit_flows.sdk.mcp.changes import Listener, Tell
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.identity import NoUser, user_of
from elicit_flows.wires.mcp_2026_07_28 import VERSION as MODERN

log = logging.getLogger(__name__)
LIST, LISTEN = "tools/list", "subscriptions/listen"
RETRY_FOR = 5.0  # seconds that a list waits for a service that is away: clients read it before all else
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Next = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What FastMCP tells its middleware about a request, under the names of ``mcp``."""

    session: Any
    request: Any
    protocol_version: str

    @classmethod
    def of(cls, context: Any) -> _Seen | None:
        """None for a list that no client requested."""
        about = context.fastmcp_context
        known = about and about.request_context
        if not known:
            return None
        version = getattr(about.session, "protocol_version", None) or ""
        return cls(about.session, getattr(known, "request", None), version)


class HiddenUntil:
    """Middleware of an ``MCPServer`` (``mcp`` 2.x) or of FastMCP.

    ``tools`` are listed for users who have connected ``provider``. Clients that listed them are notified when that
    ends.
    """

    def __init__(self, asker: Asker, provider: str, tools: Iterable[str]) -> None:
        self._asker = asker
        self._provider, self._tools = provider, frozenset(tools)

    async def __call__(self, context: Any, call_next: Next) -> Any:
        if is_fastmcp(context):
            # FastMCP 4.1 has no streams to listen on.
            result = await call_next(context)
            seen = _Seen.of(context) if context.method == LIST else None
            return await self._shown(seen, result) if seen else result
        if context.method == LISTEN and _wants_tools(context.params):
            return await self._listen(context, call_next)
        result = await call_next(context)
        return await self._shown(context, result) if context.method == LIST else result

    async def _shown(self, seen: Any, result: Any) -> Any:
        user = self._user()
        if user and seen.protocol_version < MODERN:
            # The session's id; "" if the transport has only one client.
            headers = getattr(seen.request, "headers", {})
            tell: Tell = seen.session.send_tool_list_changed
            self._asker.changes.remember(
                (self, str(headers.get("mcp-session-id", ""))), Listener(user, self._provider, tell)
            )
        if user and await self._connected(user):
            return result
        if not isinstance(result, dict):  # FastMCP returns a list of its own tool objects
            return [tool for tool in result if tool.name not in self._tools]
        shown = [tool for tool in result["tools"] if tool["name"] not in self._tools]
        return {**result, "tools": shown}

    async def _listen(self, context: Any, call_next: Next) -> Any:
        """The answer to this request is a stream, which ends when the client disconnects."""
        user = self._user()
        if user is None:
            return await call_next(context)
        # Notify this user's stream only; the library's own method would notify every stream.
        params = types.NotificationParams.model_validate({"_meta": {SUBSCRIPTION: context.request_id}})
        changed: Any = types.ToolListChangedNotification(params=params)

        async def tell() -> None:
            await context.session.send_notification(changed, related_request_id=context.request_id)

        with self._asker.changes.heard(Listener(user, self._provider, tell)):
            return await call_next(context)

    def _user(self) -> Claim | None:
        try:
            return user_of(self._asker.settings, get_access_token())
        except NoUser:
            return None

    async def _connected(self, user: Claim) -> bool:
        """Whether the user has an active connection. False if the service cannot be asked: the other tools are still
        listed.
        """
        try:
            elicit = self._asker.elicit().with_options(retry_for=RETRY_FOR)
            standing = await elicit.connections(user, provider=self._provider)
        except ElicitError:
            log.exception("tools that need %s are not listed now", self._provider)
            return False
        return any(one.status == "active" for one in standing)


def is_fastmcp(context: Any) -> bool:
    """Whether the middleware's context is FastMCP's."""
    return type(context).__module__.startswith(f"{FASTMCP}.")


def _wants_tools(params: Any) -> bool:
    """Whether a request, which nobody has validated yet, subscribes to changes of the tools."""
    wanted = (params or {}).get("notifications")
    return isinstance(wanted, dict) and wanted.get("toolsListChanged") is True
