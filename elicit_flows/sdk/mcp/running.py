"""Calling a task's tool again, in the background of the request that found it due: it outlives that request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.mcp.attempt import Attempt
from elicit_flows.sdk.mcp.calls import LIBRARY_ERROR
from elicit_flows.sdk.mcp.task import INTERNAL_ERROR, Task, beat, text_result, waits_for
from elicit_flows.values import Json

log = logging.getLogger(__name__)
Tool = Callable[[Json], Awaitable[Json]]
BEAT_SECONDS = 15.0
MOMENT_SECONDS = 1.0  # a tool that is quick is done within the request
TOO_LONG = "done, but what the tool answered is too long to be kept for a task: it has {bytes} bytes."
ASKS = {"code": INTERNAL_ERROR, "message": "The tool asks for something by means that a task has not."}


class Runs:
    """Those of one server process, by task."""

    def __init__(self, elicit: Callable[[], Elicit]) -> None:
        self._elicit = elicit
        self._known: dict[str, asyncio.Task[None]] = {}

    async def moment(self, task: Task, tool: Tool) -> bool:
        """Call the tool where that is due and not under way, and wait a moment for it.

        Whether the task may have changed by that.
        """
        name = task.first.id
        if task.due and name not in self._known:
            self._known[name] = asyncio.ensure_future(self._run(task, tool))
            self._known[name].add_done_callback(lambda _: self._known.pop(name, None))
        if name not in self._known:
            return False
        await asyncio.wait({self._known[name]}, timeout=MOMENT_SECONDS)
        return True

    async def _run(self, task: Task, tool: Tool) -> None:
        attempt = task.attempt(self._elicit())
        beating = asyncio.ensure_future(self._beat(task, attempt))
        try:
            with attempt.made():
                ended = await _ended(attempt, tool, task.call)
        finally:
            beating.cancel()
        if ended:
            await self._keep(task, ended)

    async def _beat(self, task: Task, attempt: Attempt) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if attempt.acts:
                with suppress(ElicitError):  # the next one may arrive
                    await self._elicit().add_to_note(task.first, beat())

    async def _keep(self, task: Task, ended: dict[str, str | None]) -> None:
        try:
            await self._elicit().add_to_note(task.first, ended)
        except ElicitError as refused:
            log.warning("what came of a task could not be kept: %s", refused)
            said = text_result(TOO_LONG.format(bytes=len(str(ended.get("result")))), is_error=True)
            await self._elicit().add_to_note(task.first, {"result": json.dumps(said)})


async def _ended(attempt: Attempt, tool: Tool, call: Json) -> dict[str, str | None]:
    """What is to be noted; nothing where the attempt was left."""
    try:
        result = await tool(call)
    except LIBRARY_ERROR as refused:
        return _failed(refused.error.model_dump(exclude_none=True))
    if attempt.left:
        return {}
    if result.get("resultType") != "input_required":
        return {"result": json.dumps(result)}
    return waits_for(attempt.asked, attempt.state) if attempt.asked else _failed(ASKS)


def _failed(error: Any) -> dict[str, str | None]:
    return {"error": json.dumps(error)}
