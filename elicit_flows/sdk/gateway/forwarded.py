"""A tool of a server behind the gateway, as the guards see a function."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.sdk.mcp.functions import OWN_CONTEXT, Function
from elicit_flows.sdk.outcomes import Completed

Send = Callable[[Json, list[Completed]], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Forwarded(Function):
    """``tool``: the server's name in the file, and its own name for the tool. An answer belongs to the two. Between
    them it says if it is a prompt or resource.
    """

    tool: tuple[str, ...] = ()

    @classmethod
    def to(cls, tool: tuple[str, ...], send: Send, *, schema: bool) -> Forwarded:
        """``schema``: whether the server says what its results look like."""
        send.__qualname__ = ".".join(tool)
        return cls(send, OWN_CONTEXT, (), False, not schema, inspect.Signature(), tool)

    async def run(self, context: Any, arguments: Json, outcomes: list[Completed]) -> Any:
        return await self.call(arguments, outcomes)

    def digest(self, *parts: Any) -> str:
        told = ["gateway", *self.tool, *parts]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=repr).encode()).hexdigest()
