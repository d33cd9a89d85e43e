"""Tools that a user does not see before an account of theirs is connected. They can be called all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token

from elicit_flows.sdk.mcp.asker import Asker
from elicit_flows.sdk.mcp.changes import Listener, Tell
from elicit_flows.sdk.mcp.identity import NoUser, user_of
from elicit_flows.values import Claim
from elicit_flows.wires.mcp_2026_07_28 import VERSION as MODERN

LIST, LISTEN = "tools/list", "subscriptions/listen"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Next = Callable[[Any], Awaitable[Any]]


class HiddenUntil:
    """Middleware of an ``MCPServer`` (``mcp`` 2.x): ``tools`` are listed for those who connected ``provider``.

    Who listed them, or listens, is told when the connection ends.
    """

    def __init__(self, asker: Asker, provider: str, tools: Iterable[str]) -> None:
        self._asker = asker
        self._provider, self._tools = provider, frozenset(tools)

    async def __call__(self, context: Any, call_next: Next) -> Any:
        if context.method == LISTEN and _wants_tools(context.params):
            return await self._listen(context, call_next)
        result = await call_next(context)
        if context.method != LIST:
            return result
        user = self._user()
        if user and context.protocol_version < MODERN:
            self._asker.changes.remember((self, _session(context)), self._listener(user, _of_session(context)))
        if user and await self._connected(user):
            return result
        shown = [tool for tool in result["tools"] if tool["name"] not in self._tools]
        return {**result, "tools": shown}

    async def _listen(self, context: Any, call_next: Next) -> Any:
        """The answer to this request is a stream; it ends when the client hangs up."""
        user = self._user()
        if user is None:
            return await call_next(context)
        with self._asker.changes.heard(self._listener(user, _of_stream(context))):
            return await call_next(context)

    def _listener(self, user: Claim, tell: Tell) -> Listener:
        return Listener(user, self._provider, tell)

    def _user(self) -> Claim | None:
        try:
            return user_of(self._asker.settings, get_access_token())
        except NoUser:
            return None

    async def _connected(self, user: Claim) -> bool:
        standing = await self._asker.elicit().connections(user, provider=self._provider)
        return any(one.status == "active" for one in standing)


def _wants_tools(params: Any) -> bool:
    """Of a request that nobody has checked yet."""
    wanted = (params or {}).get("notifications")
    return isinstance(wanted, dict) and wanted.get("toolsListChanged") is True


def _session(context: Any) -> str:
    """ "" where a transport has no more than one client."""
    headers = getattr(context.request, "headers", {})
    return str(headers.get("mcp-session-id", ""))


def _of_session(context: Any) -> Tell:
    tell: Tell = context.session.send_tool_list_changed
    return tell


def _of_stream(context: Any) -> Tell:
    """On this user's stream alone: the library's own way would tell everybody's."""
    params = types.NotificationParams.model_validate({"_meta": {SUBSCRIPTION: context.request_id}})
    changed: Any = types.ToolListChangedNotification(params=params)
    return lambda: context.session.send_notification(changed, related_request_id=context.request_id)
