"""``TesseronFlows``, made once for an app and used by all of its actions."""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from tesseron import ActionContext
from tesseron.action import to_json_value

from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.idempotency import named
from elicit_flows.sdk.shapes import User, claim
from elicit_flows.sdk.tesseron.invocation import Invocation
from elicit_flows.sdk.tesseron.pending_question import PendingQuestions
from elicit_flows.sdk.tesseron.questions import ActionQuestions

DEFAULT_TIMEOUT_MS = 60_000  # Tesseron's own, for an action that was registered without one
MOST_RESERVED = 5.0  # seconds kept for the action's own work after the answer, or a tenth of its time if that is less


class TesseronFlows:
    """Asks the one user of a Tesseron app.

    ``app`` is its id, which no other app with the same API key has. ``elicit``: None makes a client from the
    environment, for the app's lifetime. ``show``: a function or coroutine function with which the app shows a link;
    None shows it in a prompt of the host.
    """

    def __init__(self, user: User, elicit: Elicit | None = None, *, app: str, show: OnUrl | None = None) -> None:
        self._app = named("app", app)
        self._user = claim(user)
        self._elicit = elicit or Elicit()
        self._show = show
        self._began: WeakKeyDictionary[ActionContext, float] = WeakKeyDictionary()

    def on(
        self, ctx: ActionContext, arguments: object = None, *, timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> ActionQuestions:
        """Return the questions of one invocation. Their time begins with the first ``on`` for ``ctx``.

        ``arguments`` is the action's input; other arguments make another question. ``timeout_ms`` is the time-out that
        the action was registered with, which its context does not tell.
        """
        seconds = timeout_ms / 1000
        end = self._began.setdefault(ctx, time.monotonic()) + seconds - min(seconds / 10, MOST_RESERVED)
        questions = PendingQuestions(self._elicit, self._user, [self._app, ctx.action_name, to_json_value(arguments)])
        return ActionQuestions(Invocation(ctx, end), self._elicit, questions, self._show)
