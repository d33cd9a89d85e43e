"""What an app makes once, for all of its actions."""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from tesseron import ActionContext
from tesseron.action import to_json_value

from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.shapes import User, claim
from elicit_flows.sdk.tesseron.invocation import Invocation
from elicit_flows.sdk.tesseron.questions import ActionQuestions
from elicit_flows.sdk.tesseron.ticket import Tickets

DEFAULT_TIMEOUT_MS = 60_000  # Tesseron's, for an action that was registered without one
MOST_RESERVED = 5.0  # seconds that an action has left for what it does with the answer; a tenth of a shorter action's


class TesseronFlows:
    """``user``: the one person at this app. ``elicit``: None for one of the environment's that lives as the app does.

    ``show``: a function or coroutine function with which the app shows a link itself; else a prompt of the host does.
    """

    def __init__(self, user: User, elicit: Elicit | None = None, *, show: OnUrl | None = None) -> None:
        self._user = claim(user)
        self._elicit = elicit or Elicit()
        self._show = show
        self._began: WeakKeyDictionary[ActionContext, float] = WeakKeyDictionary()

    def on(
        self, ctx: ActionContext, arguments: object = None, *, timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> ActionQuestions:
        """The questions of one invocation, all within the time that begins with the first ``on`` for ``ctx``.

        ``arguments``: the action's input; with others it is another question. ``timeout_ms``: as the action was
        registered with, which its context does not tell.
        """
        seconds = timeout_ms / 1000
        end = self._began.setdefault(ctx, time.monotonic()) + seconds - min(seconds / 10, MOST_RESERVED)
        tickets = Tickets(self._elicit, self._user, [ctx.action_name, to_json_value(arguments)])
        return ActionQuestions(Invocation(ctx, end), self._elicit, tickets, self._show)
