"""What an author may decide about the guards of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import User

Ways = Literal["url", "link", "refuse"]
Hook = Callable[[Completed], object]


@dataclass(frozen=True, slots=True)
class Settings:
    """``user``: the one user of a server on that user's own machine; None: the caller's verified access token says who
    it is, see ``identify``.

    ``identify``: from the access token to the user, where issuer and subject stand elsewhere in it.
    ``hold``: seconds that one call waits for the user, below the time-out of clients (60 s with most).
    ``rounds``: how often a call may be put off so; clients give up after 10.
    ``push``: in the older era ask with ``elicitation/create``; False: refuse with -32042 until the user is through.
    ``otherwise``: for a client that cannot open links, ``"link"`` gives it in the tool's answer, and ``"refuse"`` ends
    the call with an error. ``clients``: by the client's name, for those that can more or less than they declare:
    ``"url"``, ``"link"`` or ``"refuse"``.
    ``after``: called with what came of it before the tool runs, a function or coroutine function.
    ``say``: the tool's answer where the user did not do it; None: ours.
    """

    user: User | None = None
    identify: Callable[[Any], User | None] | None = None
    hold: float = 45.0
    rounds: int = 8
    push: bool = True
    otherwise: Literal["link", "refuse"] = "link"
    clients: Mapping[str, Ways] = field(default_factory=dict)
    after: Hook | None = None
    say: Callable[[Outcome], str] | None = None

    def way(self, client: str, opens_links: bool) -> Ways:
        """How this client is given a link."""
        return self.clients.get(client) or ("url" if opens_links else self.otherwise)
