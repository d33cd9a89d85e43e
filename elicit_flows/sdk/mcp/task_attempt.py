"""One attempt to run a guarded tool for a client that supports tasks, shared by its guards and the extension.

The extension makes one around the call. A guard that waits for its user records that here, and the extension makes a
task of it. When the user has finished, the extension calls the tool again in a new attempt, with the guard's state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Elicitation


@dataclass(slots=True)
class Attempt:
    """``state`` and ``replies``: what guard and client said before. ``begin`` notes that the tool is about to run. All
    three belong to a task that continues; a call that may become a task has none of them.

    ``asked``: what guards wait for. ``acts``: this attempt acts on the answers. ``left``: it ended without an answer
    for the client.
    """

    state: Json | None = None
    replies: Mapping[str, Json] = field(default_factory=dict)
    begin: Callable[[], Awaitable[object]] | None = None
    asked: Sequence[Elicitation] = ()
    acts: bool = False
    left: bool = False

    @property
    def goes_on(self) -> bool:
        return self.begin is not None

    def waits(self, asked: Sequence[Elicitation], state: Json) -> None:
        self.asked, self.state = asked, state

    async def begins(self) -> None:
        """Note that the tool begins, before anything is acted on, so that no other process starts it again."""
        if self.begin:
            await self.begin()

    def survives(self, error: Exception) -> bool:
        """Whether a later attempt may succeed: the service is unreachable, and nothing was acted on."""
        away = isinstance(error, ElicitError) and (error.code == "unreachable" or (error.status or 0) >= 500)
        return away and self.goes_on and not self.acts

    @contextmanager
    def made(self) -> Iterator[None]:
        """Guards that are called within the block get it from ``current``."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Attempt | None] = ContextVar("elicit_attempt", default=None)


def current() -> Attempt:
    """The current attempt; if the client does not support tasks, a new one that nobody reads."""
    return _CURRENT.get() or Attempt()
