"""A question as an author writes it: a decorator above a function, or awaited within one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, cast

from elicit_flows.sdk.mcp import messages
from elicit_flows.sdk.mcp.asking import Asks, current_run
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.guard import Guard
from elicit_flows.sdk.outcomes import Cancelled, Completed, Declined, Expired, Failed

C_co = TypeVar("C_co", bound=Completed, covariant=True)
Tool = Callable[..., Any]


class Ask(Generic[C_co]):
    """As a decorator below ``@server.tool()``, it asks before the tool runs. In a guarded tool, ``await`` it.

    ``await`` returns the completed outcome. With any other outcome the call ends there, as with a decorator;
    ``await ….outcome()`` returns that one too. What stands above an ``await`` in the tool runs again when the user has
    answered, so it should only look.
    """

    def __init__(self, asker: Asker, make: Asks) -> None:
        self._asker, self._make = asker, make

    def __call__(self, tool: Tool) -> Tool:
        return Guard.around(tool, self._asker, self._make)

    def __await__(self) -> Generator[Any, None, C_co]:
        run = current_run()
        outcome = yield from self.outcome().__await__()
        if isinstance(outcome, Completed):
            return outcome
        raise run.ends(messages.ended(self._asker.settings, outcome))

    async def outcome(self) -> C_co | Declined | Cancelled | Expired | Failed:
        """Ask, and return how it ended. Raises RuntimeError outside a guarded tool, and ElicitError."""
        return cast(C_co, await current_run().inside(self._asker, self._make))
