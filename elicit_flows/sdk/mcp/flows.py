"""The decorators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.mcp.asker import Asker, WhenCalled
from elicit_flows.sdk.mcp.changes import Changes
from elicit_flows.sdk.mcp.guard import Asks, Guard
from elicit_flows.sdk.mcp.legacy import Followers
from elicit_flows.sdk.mcp.listing import HiddenUntil
from elicit_flows.sdk.mcp.sealing import state_key
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.questions import Question, Questions

Tool = Callable[..., Any]
Decorator = Callable[[Tool], Tool]
Middleware = Callable[..., Any]


class McpFlows(Questions[Decorator]):
    """Each method makes a decorator, to stand below ``@server.tool()``; several on one tool are asked from the top.

    What came of it is given to the tool's parameters of type ``Completed``, if it has any. ``elicit``: None makes one
    from the environment at the first call. ``settings``: see ``Settings``.
    """

    def __init__(self, elicit: Elicit | None = None, **settings: Any) -> None:
        asked = WhenCalled(elicit)
        self._asker = Asker(asked, Settings(**settings), Followers(), Changes(asked))

    def having(self, **settings: Any) -> McpFlows:
        """The same service, with these settings changed: for one tool that is different."""
        changed = McpFlows()
        changed._asker = replace(self._asker, settings=replace(self._asker.settings, **settings))
        return changed

    def hidden_until(self, provider: str, *tools: str) -> HiddenUntil:
        """Middleware, ``app.middleware.append(flows.hidden_until("acme", "list_files"))``: who has no account connected
        at ``provider`` does not see ``tools`` in the list, and is told when the connection ends.
        """
        return HiddenUntil(self._asker, provider, tools)

    def tasks(self, *keys: bytes) -> Middleware:
        """Middleware, ``app.middleware.append(flows.tasks())`` (``mcp`` 2.x): a client that takes tasks gets one where
        it would have to wait for its user. ``keys``: as ``RequestStateSecurity`` has them; none is ``state_key()``.
        """
        tasks = import_module("elicit_flows.sdk.mcp.tasks")  # mcp 1 has nothing of what it stands on
        made: Middleware = tasks.Tasks(self._asker, keys or [state_key()])
        return made

    def ask(self, make: Asks) -> Decorator:
        """What ``make``, called with the tool's arguments, says is to be asked; None: nothing, the tool just runs."""

        def guarded(tool: Tool) -> Tool:
            return Guard.around(tool, self._asker, make)

        return guarded

    def _asked(self, question: Question) -> Decorator:
        return self.ask(lambda **_: question)
