"""A tool's function as the library is to see it: without the outcomes it takes, and with the context of the call."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import anyio.to_thread

from elicit_flows.sdk.mcp.calls import LIBRARIES
from elicit_flows.sdk.outcomes import Completed

OWN_CONTEXT = "elicit_context"


@dataclass(frozen=True, slots=True)
class Function:
    """``context``: under which name the library gives the context. ``outcomes``: the parameters that take outcomes, in
    order. ``text``: whether it answers with text.
    """

    call: Callable[..., Any]
    context: str
    outcomes: tuple[str, ...]
    text: bool
    signature: inspect.Signature

    @classmethod
    def of(cls, call: Callable[..., Any]) -> Function:
        hints = typing.get_type_hints(call, include_extras=True)
        given = inspect.signature(call).parameters.values()
        kept = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in given]
        outcomes = tuple(one.name for one in kept if one.annotation is Completed)
        kept = [one for one in kept if one.name not in outcomes]
        context = next((one.name for one in kept if _is_context(one.annotation)), OWN_CONTEXT)
        if context == OWN_CONTEXT:
            kept.append(inspect.Parameter(OWN_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=_contexts()))
        returned = hints.get("return", inspect.Signature.empty)
        text = returned in {str, inspect.Signature.empty}
        return cls(call, context, outcomes, text, inspect.Signature(kept, return_annotation=returned))

    async def run(self, context: Any, arguments: dict[str, Any], outcomes: list[Completed]) -> Any:
        """Call it, in a thread where it is no coroutine function."""
        # Of several outcomes the innermost guard's come last, as the decorators are read.
        given = {**arguments, **dict(zip(self.outcomes, outcomes, strict=False))}
        if self.context != OWN_CONTEXT:
            given[self.context] = context
        if inspect.iscoroutinefunction(self.call):
            return await self.call(**given)
        return await anyio.to_thread.run_sync(lambda: self.call(**given))

    def digest(self, *parts: Any) -> str:
        """The same for the same tool, arguments and ``parts``, in every process."""
        told = [self.call.__module__, self.call.__qualname__, *parts]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Arguments that are models, as JSON."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else repr(value)


def _context_classes() -> list[type]:
    """Those of the libraries that the server's author has imported."""
    modules = [sys.modules[name] for name in LIBRARIES if name in sys.modules]
    return [module.Context for module in modules if hasattr(module, "Context")]


def _contexts() -> Any:
    return reduce(or_, _context_classes())


def _is_context(annotation: Any) -> bool:
    said = (annotation, *typing.get_args(annotation))
    return any(isinstance(one, type) and issubclass(one, tuple(_context_classes())) for one in said)
