"""What the guards of one server share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.mcp.changes import Changes
from elicit_flows.sdk.mcp.followers import Followers
from elicit_flows.sdk.mcp.pending_question import Earlier
from elicit_flows.sdk.mcp.settings import Settings


class LazyClient:
    """The client that was given, or one from the environment that is made when the first tool is called."""

    def __init__(self, elicit: Elicit | None) -> None:
        self._elicit = elicit

    def __call__(self) -> Elicit:
        if self._elicit is None:
            self._elicit = Elicit()
        return self._elicit


@dataclass(frozen=True, slots=True)
class Asker:
    """What a guard needs to ask. ``followers`` and ``changes``: the clients to notify in this process. ``earlier``: the
    functions that wait for an answer here.
    """

    elicit: Callable[[], Elicit]
    settings: Settings
    followers: Followers
    changes: Changes
    earlier: Earlier = field(default_factory=Earlier)
