"""The extension ``io.modelcontextprotocol/tasks`` as middleware of an ``MCPServer`` (``mcp`` 2.x, revision 2026-07-28).

A guarded tool that has to wait for its user answers with a task, for a client that takes tasks and opens links.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState, authenticated_principal
from mcp.shared.inbound import decode_header_value

from elicit_flows.errors import Invalid
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.mcp.asker import Asker
from elicit_flows.sdk.mcp.attempt import Attempt
from elicit_flows.sdk.mcp.calls import INVALID_PARAMS, error
from elicit_flows.sdk.mcp.running import Runs
from elicit_flows.sdk.mcp.task import Task, replied, waits_for
from elicit_flows.sdk.once import CONFLICT, acted_on
from elicit_flows.states import Status
from elicit_flows.values import Json
from elicit_flows.wires import mcp_2026_07_28 as rounds
from elicit_flows.wires import mcp_tasks as wire

HEADER_MISMATCH = -32020
NAME_HEADER = "mcp-name"
CALL, DISCOVER = "tools/call", "server/discover"

Next = Callable[[Any], Awaitable[Json]]


class Tasks:
    """``keys``: those of the server's ``RequestStateSecurity``; the first seals, and each opens."""

    def __init__(self, asker: Asker, keys: Sequence[bytes]) -> None:
        self._elicit = asker.elicit
        self._runs = Runs(asker.elicit)
        self._ids = AESGCMRequestStateCodec([hashlib.sha256(b"task ids\0" + key).digest() for key in keys])
        self._methods = {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}

    async def __call__(self, context: Any, call_next: Next) -> Json:
        if context.method in self._methods and context.protocol_version >= rounds.VERSION:
            return await self._methods[context.method](context, await self._named(context), call_next)
        if context.method == CALL and _takes_tasks(context):
            return await self._call(context, call_next)
        result = await call_next(context)
        return _advertised(result) if context.method == DISCOVER else result

    async def _call(self, context: Any, call_next: Next) -> Json:
        attempt = Attempt()
        with attempt.made():
            result = await call_next(context)
        if attempt.asked is None or result.get("resultType") != rounds.RESULT_TYPE:
            return result
        said = {name: value for name, value in context.params.items() if name != "_meta"}
        noted = {"call": json.dumps(said), **waits_for(attempt.asked, attempt.state)}
        note = await self._elicit().add_to_note(attempt.asked, noted)
        return Task(self._id(context, attempt.asked.id), attempt.asked, attempt.asked, note).created()

    async def _get(self, context: Any, task: Task, call_next: Next) -> Json:
        if await self._runs.moment(task, _tool(context, call_next)):
            task = await self._named(context)
        return task.told()

    async def _update(self, context: Any, task: Task, call_next: Next) -> Json:
        try:
            reply = rounds.reply(context.params.get("inputResponses") or {}, task.asked.id)
        except Invalid as malformed:
            raise error(INVALID_PARAMS, str(malformed)) from malformed
        if reply and not task.replies and task.ending is None:
            await self._elicit().add_to_note(task.first, replied(task.asked, reply.action))
            await self._runs.moment(await self._named(context), _tool(context, call_next))
        return wire.acknowledged()

    async def _cancel(self, context: Any, task: Task, call_next: Next) -> Json:
        if not task.asked.over:
            try:
                seen = await self._elicit().cancel(task.asked)
            except ElicitError as refused:
                if refused.status != CONFLICT:
                    raise
            else:
                if seen.status is Status.CANCELLED:
                    await acted_on(self._elicit(), seen)
        return wire.acknowledged()

    async def _named(self, context: Any) -> Task:
        """The task of a request. Raises the library's error: for a stranger's as for one that never was."""
        if not _takes_tasks(context):
            needed = wire.missing_capability()
            raise error(needed["code"], needed["message"], needed["data"])
        name = (context.params or {}).get("taskId")
        if not isinstance(name, str):
            raise error(INVALID_PARAMS, "taskId: Give the id of a task.")
        _check_header(context, name)
        first = self._first(context, name)
        task = await self._found(name, first) if first else None
        if task is None:
            raise error(INVALID_PARAMS, "taskId: There is no such task.")
        return task

    async def _found(self, name: str, first: str) -> Task | None:
        try:
            return await Task.found(self._elicit(), name, first)
        except ElicitError as refused:
            if refused.status == 404:
                return None
            raise

    def _id(self, context: Any, first: str) -> str:
        return self._ids.seal(json.dumps([first, _principal(context)]).encode())

    def _first(self, context: Any, name: str) -> str | None:
        """The question behind a task's id, which is good for who it was given to alone."""
        try:
            first, principal = json.loads(self._ids.unseal(name))
        except InvalidRequestState:
            return None
        return str(first) if principal == _principal(context) else None


def _principal(context: Any) -> str:
    """A digest of client, issuer and subject, by which the library binds ``requestState`` too."""
    return hashlib.sha256((authenticated_principal(context) or "").encode()).hexdigest()


def _takes_tasks(context: Any) -> bool:
    """By what it declared on this very request."""
    can = context.session.client_capabilities
    return context.protocol_version >= rounds.VERSION and wire.EXTENSION in ((can and can.extensions) or {})


def _check_header(context: Any, name: str) -> None:
    """Whoever routes by the header has to be told the truth (SEP-2243); not all clients send it for extensions yet."""
    headers = getattr(context.request, "headers", {})
    if NAME_HEADER in headers and decode_header_value(headers[NAME_HEADER]) != name:
        raise error(HEADER_MISMATCH, f"{NAME_HEADER} header does not match the request body's 'taskId' parameter")


def _advertised(result: Json) -> Json:
    can = result["capabilities"]
    return {**result, "capabilities": {**can, "extensions": {**(can.get("extensions") or {}), wire.EXTENSION: {}}}}


def _tool(context: Any, call_next: Next) -> Callable[[Json], Awaitable[Json]]:
    """The tool's call as it was, on this request; further in than ``requestState`` is sealed and opened."""

    async def tool(call: Json) -> Json:
        meta = {"_meta": context.params["_meta"]}
        return await call_next(replace(context, method=CALL, params={**call, **meta}))

    return tool
