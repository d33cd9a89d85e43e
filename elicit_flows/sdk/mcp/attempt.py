"""One attempt to run a guarded tool for a client that takes tasks: how its guards and the extension tell each other.

The extension makes one around the call. A guard that waits for its user says so here, and the extension makes a task of
it; when the user is through, the extension calls the tool again in a new attempt, which carries what the guard said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Json


@dataclass(slots=True)
class Attempt:
    """``state`` and ``replies`` are what guard and client said before, ``begin`` notes that the tool is about to run:
    all three are of a task that goes on, and a call that may become one has none of them.

    ``asked``: what a guard waits for. ``acts``: this attempt is the one that acts on the answers. ``left``: it ended
    without a word for the client.
    """

    state: Json | None = None
    replies: Mapping[str, Json] = field(default_factory=dict)
    begin: Callable[[], Awaitable[object]] | None = None
    asked: Elicitation | None = None
    acts: bool = False
    left: bool = False

    @property
    def goes_on(self) -> bool:
        return self.begin is not None

    def waits(self, asked: Elicitation, state: Json) -> None:
        self.asked, self.state = asked, state

    async def begins(self) -> None:
        """Before anything is acted on: who finds a task that has begun does not begin it again."""
        if self.begin:
            await self.begin()

    def survives(self, error: Exception) -> bool:
        """Whether a later attempt may do better: the service is away, and nothing was acted on."""
        away = isinstance(error, ElicitError) and (error.status is None or error.status >= 500)
        return away and self.goes_on and not self.acts

    @contextmanager
    def made(self) -> Iterator[None]:
        """Guards that are called within find it as the current one."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Attempt | None] = ContextVar("elicit_attempt", default=None)


def current() -> Attempt:
    """One that nobody looks at, where the client takes no tasks."""
    return _CURRENT.get() or Attempt()
