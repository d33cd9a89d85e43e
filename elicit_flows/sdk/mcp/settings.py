"""The settings of a server's guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, get_args

from elicit_flows.sdk.mcp.known_clients import known_way
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import User

Ways = Literal["url", "link", "refuse"]
Otherwise = Literal["link", "refuse"]
Hook = Callable[[Completed], object]


class Given(TypedDict, total=False):
    """``Settings`` as keyword arguments, so that a type checker finds wrong names."""

    server: str | None
    user: User | None
    identify: Callable[[Any], User | None] | None
    hold: float
    rounds: int
    progress_every: float
    ask_again_after: float
    push: bool
    together: bool
    otherwise: Otherwise
    clients: Mapping[str, Ways]
    after: Hook | None
    say: Callable[[Outcome], str] | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server's guards.

    - ``server``: tells this server from others with the same API key; None: its name, and the address that its access
      tokens are for. All processes of a server must have the same.
    - ``user``: the one user of a server that runs on that user's own machine; None: the caller's verified access
      token names the user, see ``identify``.
    - ``identify``: returns the user for an access token, if issuer and subject are in other places of it.
    - ``hold``: seconds for which one call waits for the user, for all its guards together. Keep it below the client's
      time-out, which mostly is 60 s.
    - ``rounds``: how many times a call may be answered with "call again"; clients give up after 10.
    - ``progress_every``: seconds between two progress notifications, for clients that ask for them.
    - ``ask_again_after``: seconds for which a user who declined is not asked again by the same call.
    - ``push``: with 2025-11-25, ask with ``elicitation/create``; False: refuse with -32042 until the user has
      finished.
    - ``together``: ask what all guards of a tool ask at once, and not one after the other; the first no ends the call,
      and the other questions are taken back. A guard that uses what earlier ones brought still asks after them.
    - ``otherwise``: for clients that cannot open links: ``"link"`` puts the link into the tool's answer, ``"refuse"``
      ends the call with an error.
    - ``clients``: by the client's name, for clients that can do more or less than they declare: ``"url"``, ``"link"``
      or ``"refuse"``. It goes before what is known of them, see ``known_clients``.
    - ``after``: a function or coroutine function that is called with each completed outcome before the tool runs.
    - ``say``: returns the tool's answer for an outcome that is not ``Completed``; None: the default texts.

    Raises ValueError for a value out of range.
    """

    server: str | None = None
    user: User | None = None
    identify: Callable[[Any], User | None] | None = None
    hold: float = 45.0
    rounds: int = 8
    progress_every: float = 10.0
    ask_again_after: float = 60.0
    push: bool = True
    together: bool = False
    otherwise: Otherwise = "link"
    clients: Mapping[str, Ways] = field(default_factory=dict)
    after: Hook | None = None
    say: Callable[[Outcome], str] | None = None

    def __post_init__(self) -> None:
        if self.server is not None and not (isinstance(self.server, str) and self.server.strip()):
            raise ValueError(f"server: Give the server a name of its own, not {self.server!r}.")
        for name, least in (("hold", 0), ("ask_again_after", 0), ("rounds", 1), ("progress_every", 0.1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= least:
                raise ValueError(f"{name}: Give a number of {least} or more, not {value!r}.")
        ways = [("otherwise", self.otherwise, Otherwise), *(("clients", way, Ways) for way in self.clients.values())]
        for name, way, known in ways:
            if way not in get_args(known):
                raise ValueError(f"{name}: Give one of {', '.join(get_args(known))}, not {way!r}.")

    def way(self, client: str, version: str, opens_links: bool) -> Ways:
        """How this client is given a link. One that only says that it opens links counts as one that does not."""
        known = self.clients.get(client)
        if known is None and opens_links and known_way(client, version) is None:
            return "url"
        return known or self.otherwise
