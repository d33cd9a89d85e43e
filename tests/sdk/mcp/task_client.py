"""The ``mcp`` 2 library's client with the extension for tasks that its interface for extensions carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import anyio
from mcp import types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from tests.sdk.mcp.clients import Host

POLL_SECONDS = 0.2


class Created(types.Result):
    result_type: Literal["task"]
    task_id: str


class Params(types.RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class OfTask(types.Request[Params, str]):
    name_param = "taskId"


class Stands(types.Result):
    """What ``tasks/get`` says."""

    status: str
    input_requests: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


class TakesTasks(ClientExtension):
    """Follows each task to its end. ``seen``: the states that it went through."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, host: Host) -> None:
        self._host = host
        self.seen: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._follow)]

    async def _follow(self, created: Created, context: ClaimContext) -> types.CallToolResult:
        task, answered = {"task_id": created.task_id}, set[str]()
        while True:
            stands = await context.session.send_request(OfTask(method="tasks/get", params=Params(**task)), Stands)
            self.seen.append(stands.status)
            if stands.result is not None:
                return types.CallToolResult.model_validate(stands.result)
            for key, asked in (stands.input_requests or {}).items():
                if key not in answered:
                    answered.add(key)
                    params = types.ElicitRequestURLParams.model_validate(asked["params"] | {"elicitationId": key})
                    reply = await self._host.elicit(None, params)
                    told = Params(**task, input_responses={key: reply.model_dump(exclude_none=True)})
                    await context.session.send_request(OfTask(method="tasks/update", params=told), types.EmptyResult)
            await anyio.sleep(POLL_SECONDS)
