"""``McpFlows``, the decorators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar, Unpack, overload

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.mcp.ask import Ask, Tool
from elicit_flows.sdk.mcp.asking import Asks, Fixed
from elicit_flows.sdk.mcp.changes import Changes
from elicit_flows.sdk.mcp.context import Asker, LazyClient
from elicit_flows.sdk.mcp.followers import Followers
from elicit_flows.sdk.mcp.guard import Guard, hints
from elicit_flows.sdk.mcp.listing import HiddenUntil
from elicit_flows.sdk.mcp.sealing import state_key
from elicit_flows.sdk.mcp.settings import Given, Settings
from elicit_flows.sdk.outcomes import Answered, Completed
from elicit_flows.sdk.questions import Options, Question, Questions

T = TypeVar("T")
Decorator = Callable[[Tool], Tool]
Middleware = Callable[..., Any]


class McpFlows(Questions[Ask[Completed]]):
    """Each method makes a decorator, to be put below ``@server.tool()``. Several on one tool ask from top to bottom.
    Within a guarded tool, ``await`` the same: see ``Ask``.

    The outcomes are passed to those parameters of the tool that have the type ``Completed`` or ``Answered``.
    ``elicit``: None makes a client from the environment at the first call. ``settings``: see ``Settings``.
    """

    def __init__(self, elicit: Elicit | None = None, **settings: Unpack[Given]) -> None:
        asked = LazyClient(elicit)
        self._asker = Asker(asked, Settings(**settings), Followers(), Changes(asked))

    def having(self, **settings: Unpack[Given]) -> McpFlows:
        """Return the same guards with these settings changed, for a tool that needs others."""
        changed = McpFlows()
        changed._asker = replace(self._asker, settings=replace(self._asker.settings, **settings))
        return changed

    def hidden_until(self, provider: str, *tools: str) -> HiddenUntil:
        """Return middleware that lists ``tools`` only for users who have an account connected at ``provider``.

        ``app.middleware.append(flows.hidden_until("acme", "list_files"))``. Clients are notified when the connection
        ends. The tools can be called all the same.
        """
        return HiddenUntil(self._asker, provider, tools)

    def tasks(self, *keys: bytes) -> Middleware:
        """Return middleware that answers with a task when a call would have to wait for its user (``mcp`` 2.x).

        ``app.middleware.append(flows.tasks())``. Only clients that support tasks get one. ``keys``: those of
        ``RequestStateSecurity``; none means ``state_key()``.
        """
        tasks = import_module("elicit_flows.sdk.mcp.tasks")  # it needs modules that mcp 1 does not have
        made: Middleware = tasks.Tasks(self._asker, keys or [state_key()])
        return made

    def ask(self, make: Asks | Question) -> Ask[Completed]:
        """Ask what ``make`` returns for the tool's arguments; if it returns None, the tool runs without a question.

        ``make`` is a function or coroutine function. Its parameters of the type ``Completed`` get the outcomes of the
        guards above. Or it is a question, to be awaited in a tool.
        """
        return self._asked(make) if isinstance(make, Question) else Ask(self._asker, make)

    def tool(self, app: Any, name: str | None = None, *, annotations: Any = None, **options: Any) -> Decorator:
        """``@flows.tool(app)`` above the guards is ``@app.tool()``, and tells clients what the guards say of the tool.

        A tool with a ``confirm`` gets ``destructiveHint``, unless ``annotations`` says otherwise. All else is passed
        on.
        """

        def made(tool: Tool) -> Tool:
            told = hints(tool, annotations)
            more = options if told is None else {**options, "annotations": told}
            added: Tool = app.tool(name=name, **more)(tool)
            return added

        return made

    def guard(self, tool: Tool) -> Tool:
        """Decorate a tool that asks nothing before it runs, and from inside: ``await flows.confirm(…)``."""
        return Guard.around(tool, self._asker, None)

    @overload
    def form(
        self, schema: type[T], *, message: str, shared: bool = False, **options: Unpack[Options]
    ) -> Ask[Answered[T]]: ...

    @overload
    def form(
        self, schema: Json, *, message: str, shared: bool = False, **options: Unpack[Options]
    ) -> Ask[Completed]: ...

    def form(self, schema: Json | type[Any], *, message: str, **options: Any) -> Ask[Any]:
        """As ``Questions.form``. A parameter of the tool for the answers has the type ``Answered[…]``."""
        return super().form(schema, message=message, **options)

    def _asked(self, question: Question) -> Ask[Completed]:
        return Ask(self._asker, Fixed(question))
