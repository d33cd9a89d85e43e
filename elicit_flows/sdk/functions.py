"""Shared by the guards: a tool's function as its library sees it, which passes no outcomes."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from elicit_flows.sdk.outcomes import Answered, Completed


def outcome_parameters(call: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that take outcomes, ``Completed`` or ``Answered[…]``, in order."""
    try:
        # An object with a method __call__ has no hints of its own.
        hints = typing.get_type_hints(call if inspect.isroutine(call) else type(call).__call__)
    except NameError:  # a name that only type checkers import
        return ()
    takes = {name for name, hint in hints.items() if (typing.get_origin(hint) or hint) in (Completed, Answered)}
    return tuple(name for name in inspect.signature(call).parameters if name in takes)


def hinted_parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that a library passes, with their annotations as types."""
    hints = typing.get_type_hints(call, include_extras=True)
    outcomes = outcome_parameters(call)
    given = [one for name, one in inspect.signature(call).parameters.items() if name not in outcomes]
    return [one.replace(annotation=hints.get(one.name, one.annotation)) for one in given]


def dressed(guarded: Callable[..., Any], tool: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """``guarded`` with the name and docstring of the tool's own function, and with ``signature``.

    It has no ``__wrapped__``, which would lead libraries to the parameters that take outcomes.
    """
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(guarded, name, getattr(tool, name))
    hints = {one.name: one.annotation for one in signature.parameters.values()}
    given = {name: hint for name, hint in hints.items() if hint is not inspect.Parameter.empty}
    returned = signature.return_annotation
    guarded.__annotations__ = given | ({} if returned is inspect.Signature.empty else {"return": returned})
    guarded.__signature__ = signature  # type: ignore[attr-defined]
    return guarded


def plain(value: Any) -> Any:
    """A model as JSON, for arguments that are models; for ``json.dumps``."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else repr(value)
