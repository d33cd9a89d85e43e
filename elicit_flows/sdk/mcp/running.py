"""Runs the tool of a task again, in the background of the request that found it due, and beyond that request's end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.idempotency import withdraw
from elicit_flows.sdk.mcp.calls import LIBRARY_ERROR
from elicit_flows.sdk.mcp.task import INTERNAL_ERROR, Task, beat, text_result, waits_for
from elicit_flows.sdk.mcp.task_attempt import Attempt

log = logging.getLogger(__name__)
Tool = Callable[[Json], Awaitable[Json]]
BEAT_SECONDS = 15.0
MOMENT_SECONDS = 1.0  # a quick tool finishes within the request
TOO_LONG = "done, but the tool's answer is too long to be stored for a task: it has {bytes} bytes."
ASKS = {"code": INTERNAL_ERROR, "message": "The tool asks for input in a way that a task does not support."}


class Runs:
    """The running tools of one server process, by task."""

    def __init__(self, elicit: Callable[[], Elicit]) -> None:
        self._elicit = elicit
        self._known: dict[str, asyncio.Task[None]] = {}

    async def moment(self, task: Task, tool: Tool) -> bool:
        """Start the tool if it is due and not running, and wait a moment for it. Returns whether the task may have
        changed.
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
            try:
                await self._elicit().add_to_note(task.first, ended)
            except ElicitError as refused:
                log.warning("the result of a task could not be stored: %s", refused)
                said = text_result(TOO_LONG.format(bytes=len(str(ended.get("result")))), is_error=True)
                await self._elicit().add_to_note(task.first, {"result": json.dumps(said)})
            if "at" not in ended:  # a no has ended it: what it asked beside that is of no use any more
                await withdraw(self._elicit(), [one for one in task.asked if not one.over])

    async def _beat(self, task: Task, attempt: Attempt) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if attempt.acts:
                with suppress(ElicitError):  # the next beat may succeed
                    await self._elicit().add_to_note(task.first, beat())


async def _ended(attempt: Attempt, tool: Tool, call: Json) -> dict[str, str | None]:
    """What is to be noted; empty if the attempt was abandoned."""
    try:
        result = await tool(call)
    except LIBRARY_ERROR as refused:
        return {"error": json.dumps(refused.error.model_dump(exclude_none=True))}
    if attempt.left:
        return {}
    if result.get("resultType") != "input_required":
        return {"result": json.dumps(result)}
    return waits_for(attempt.asked, attempt.state) if attempt.asked else {"error": json.dumps(ASKS)}
