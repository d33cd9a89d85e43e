"""A tool's function with the signature that the library should see: no outcomes, and the context of the call."""

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

from elicit_flows.sdk.functions import hinted_parameters, outcome_parameters, plain
from elicit_flows.sdk.mcp.calls import LIBRARIES
from elicit_flows.sdk.outcomes import Completed

OWN_CONTEXT = "elicit_context"


@dataclass(frozen=True, slots=True)
class Function:
    """``context``: the name under which the library passes the context. ``outcomes``: the parameters that take
    outcomes, in order. ``text``: whether it returns text. ``free``: whether the libraries derive no schema from its
    return type.
    """

    call: Callable[..., Any]
    context: str
    outcomes: tuple[str, ...]
    text: bool
    free: bool
    signature: inspect.Signature

    @classmethod
    def of(cls, call: Callable[..., Any]) -> Function:
        kept = hinted_parameters(call)
        # The context classes of the libraries that the server has imported.
        modules = [sys.modules[name] for name in LIBRARIES if name in sys.modules]
        classes = tuple(module.Context for module in modules if hasattr(module, "Context"))
        context = OWN_CONTEXT
        for one in kept:
            said = (one.annotation, *typing.get_args(one.annotation))
            if any(isinstance(of, type) and issubclass(of, classes) for of in said):
                context = one.name
                break
        else:
            own = inspect.Parameter(OWN_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=reduce(or_, classes))
            kept.append(own)
        returned = typing.get_type_hints(call, include_extras=True).get("return", inspect.Signature.empty)
        free = returned is inspect.Signature.empty
        return cls(
            call,
            context,
            outcome_parameters(call),
            returned is str,
            free,
            inspect.Signature(kept, return_annotation=returned),
        )

    async def run(self, context: Any, arguments: dict[str, Any], outcomes: list[Completed]) -> Any:
        """Call it; in a thread if it is not a coroutine function."""
        # The outcomes are in the order in which the decorators are read: the innermost guard's comes last.
        given = {**arguments, **dict(zip(self.outcomes, outcomes, strict=False))}
        if self.context != OWN_CONTEXT:
            given[self.context] = context
        if inspect.iscoroutinefunction(self.call):
            return await self.call(**given)
        return await anyio.to_thread.run_sync(lambda: self.call(**given))

    def digest(self, *parts: Any) -> str:
        """A digest that is the same in every process for the same tool and ``parts``."""
        told = [self.call.__module__, self.call.__qualname__, *parts]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=plain).encode()).hexdigest()
