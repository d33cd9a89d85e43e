"""Tools that a user does not see before an account of theirs is connected. They can be called all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token

from elicit_flows.sdk.mcp.asker import Asker
from elicit_flows.sdk.mcp.identity import NoUser, user_of


class HiddenUntil:
    """Middleware of an ``MCPServer`` (``mcp`` 2.x): ``tools`` are listed for those who connected ``provider``."""

    def __init__(self, asker: Asker, provider: str, tools: Iterable[str]) -> None:
        self._asker = asker
        self._provider, self._tools = provider, frozenset(tools)

    async def __call__(self, context: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        result = await call_next(context)
        if context.method != "tools/list" or await self._connected():
            return result
        shown = [tool for tool in result["tools"] if tool["name"] not in self._tools]
        return {**result, "tools": shown}

    async def _connected(self) -> bool:
        try:
            user = user_of(self._asker.settings, get_access_token())
        except NoUser:
            return False
        standing = await self._asker.elicit().connections(user, provider=self._provider)
        return any(one.status == "active" for one in standing)
