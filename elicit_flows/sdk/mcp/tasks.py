"""The extension ``io.modelcontextprotocol/tasks`` as middleware of an ``MCPServer`` (``mcp`` 2.x, revision 2026-07-28).

For a client that supports tasks and opens links, a guarded tool that has to wait for its user answers with a task.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState, authenticated_principal
from mcp.shared.inbound import decode_header_value

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.idempotency import withdraw
from elicit_flows.sdk.mcp.calls import INVALID_PARAMS, error
from elicit_flows.sdk.mcp.context import Asker
from elicit_flows.sdk.mcp.listing import is_fastmcp
from elicit_flows.sdk.mcp.running import Runs
from elicit_flows.sdk.mcp.task import INTERNAL_ERROR, Task, replied, waits_for
from elicit_flows.sdk.mcp.task_attempt import Attempt
from elicit_flows.wires import mcp_2026_07_28 as rounds
from elicit_flows.wires import mcp_tasks as wire

log = logging.getLogger(__name__)
AWAY = "Tasks are not available at the moment. Try again later."
NOT_FASTMCP = "McpFlows.tasks() needs the MCPServer of the library mcp. FastMCP has no middleware that can make tasks."
HEADER_MISMATCH = -32020
NAME_HEADER = "mcp-name"
CALL, DISCOVER = "tools/call", "server/discover"

Next = Callable[[Any], Awaitable[Json]]


class Tasks:
    """``keys``: those of the server's ``RequestStateSecurity``. The first one encrypts, and each can decrypt."""

    def __init__(self, asker: Asker, keys: Sequence[bytes]) -> None:
        self._elicit = asker.elicit
        self._runs = Runs(asker.elicit)
        self._ids = AESGCMRequestStateCodec([hashlib.sha256(b"task ids\0" + key).digest() for key in keys])
        self._methods = {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}

    async def __call__(self, context: Any, call_next: Next) -> Json:
        if is_fastmcp(context):
            log.error(NOT_FASTMCP)
            raise error(INTERNAL_ERROR, NOT_FASTMCP)
        try:
            if context.method in self._methods and context.protocol_version >= rounds.VERSION:
                return await self._methods[context.method](context, await self._named(context), call_next)
            if context.method == CALL and _takes_tasks(context):
                return await self._call(context, call_next)
            result = await call_next(context)
        except ElicitError as refused:
            log.exception("a request about a task failed")
            raise error(INTERNAL_ERROR, AWAY) from refused
        if context.method != DISCOVER:
            return result
        can = result["capabilities"]
        return {**result, "capabilities": {**can, "extensions": {**(can.get("extensions") or {}), wire.EXTENSION: {}}}}

    async def _call(self, context: Any, call_next: Next) -> Json:
        attempt = Attempt()
        with attempt.made():
            result = await call_next(context)
        if not attempt.asked or result.get("resultType") != rounds.RESULT_TYPE:
            return result
        said = {name: value for name, value in context.params.items() if name != "_meta"}
        noted = {"call": json.dumps(said), **waits_for(attempt.asked, attempt.state)}
        note = await self._elicit().add_to_note(attempt.asked[0], noted)
        return Task(
            self._ids.seal(json.dumps([attempt.asked[0].id, _principal(context)]).encode()),
            attempt.asked[0],
            attempt.asked,
            note,
        ).created()

    async def _get(self, context: Any, task: Task, call_next: Next) -> Json:
        if await self._runs.moment(task, _tool(context, call_next)):
            task = await self._named(context)
        return task.told()

    async def _update(self, context: Any, task: Task, call_next: Next) -> Json:
        said: dict[str, str | None] = {}
        try:
            for one in task.asked:
                reply = rounds.reply(context.params.get("inputResponses") or {}, one.id)
                if reply and one.id not in task.replies:
                    said |= replied(one, reply.action)
        except Invalid as malformed:
            raise error(INVALID_PARAMS, str(malformed)) from malformed
        if said and task.ending is None:
            await self._elicit().add_to_note(task.first, said)
            await self._runs.moment(await self._named(context), _tool(context, call_next))
        return wire.acknowledged()

    async def _cancel(self, context: Any, task: Task, call_next: Next) -> Json:
        await withdraw(self._elicit(), [one for one in task.asked if not one.over])
        return wire.acknowledged()

    async def _named(self, context: Any) -> Task:
        """The task that a request names. Raises the library's error, which is the same for an unknown task and another
        user's.
        """
        if not _takes_tasks(context):
            needed = wire.missing_capability()
            raise error(needed["code"], needed["message"], needed["data"])
        name = (context.params or {}).get("taskId")
        if not isinstance(name, str):
            raise error(INVALID_PARAMS, "taskId: Give the id of a task.")
        # Refuse a header that names another task, since proxies route by it (SEP-2243). Not all clients send it yet.
        headers = getattr(context.request, "headers", {})
        if NAME_HEADER in headers and decode_header_value(headers[NAME_HEADER]) != name:
            raise error(HEADER_MISMATCH, f"{NAME_HEADER} header does not match the request body's 'taskId' parameter")
        task = await self._found(context, name)
        if task is None:
            raise error(INVALID_PARAMS, "taskId: There is no such task.")
        return task

    async def _found(self, context: Any, name: str) -> Task | None:
        """None for anyone but the caller that the task's id was given to, and for what the service does not know."""
        try:
            first, principal = json.loads(self._ids.unseal(name))
        except InvalidRequestState:
            return None
        if principal != _principal(context):
            return None
        try:
            return await Task.found(self._elicit(), name, str(first))
        except ElicitError as refused:
            if refused.status == 404:
                return None
            raise


def _principal(context: Any) -> str:
    """A digest of client, issuer and subject, to which the library binds ``requestState`` as well."""
    return hashlib.sha256((authenticated_principal(context) or "").encode()).hexdigest()


def _takes_tasks(context: Any) -> bool:
    """Whether the client declared tasks in this request."""
    can = context.session.client_capabilities
    return context.protocol_version >= rounds.VERSION and wire.EXTENSION in ((can and can.extensions) or {})


def _tool(context: Any, call_next: Next) -> Callable[[Json], Awaitable[Json]]:
    """The original tool call, made on this request, inside the layer that encrypts ``requestState``."""

    async def tool(call: Json) -> Json:
        meta = {"_meta": context.params["_meta"]}
        return await call_next(replace(context, method=CALL, params={**call, **meta}))

    return tool
