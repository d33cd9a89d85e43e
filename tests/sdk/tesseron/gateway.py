"""The gateway's side of Tesseron 1.2, as far as actions and prompts need it.

Written here because the project's own gateway is an npm package that cannot be had on every machine that tests.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from elicit_flows.domain.values import Json
from tests.support.machine import within

Answer = Callable[[Json], Awaitable[Any]]
EVERYTHING = {"streaming": True, "subscriptions": True, "sampling": True, "elicitation": True}
LINK = re.compile(r"http://\S+/c/\S+")
SOON = 20.0  # seconds


class Refused(Exception):
    """A JSON-RPC error, from the app or to it."""

    def __init__(self, code: int, message: str = "", data: Any = None) -> None:
        super().__init__(f"{code} {message}")
        self.code, self.message, self.data = code, message, data


async def no_answer(prompt: Json) -> Any:
    """The prompt stays open."""
    await asyncio.Event().wait()


def says(result: Any) -> Answer:
    async def answer(prompt: Json) -> Any:
        return result

    return answer


def refuses(code: int) -> Answer:
    async def answer(prompt: Json) -> Any:
        raise Refused(code, "The prompt failed")

    return answer


class Gateway:
    """``prompts``: the params of every elicitation/request; ``answer`` answers them. ``said``: progress messages."""

    def __init__(self, socket: ClientConnection) -> None:
        self.answer: Answer = no_answer
        self.prompts: list[Json] = []
        self.open_prompts = 0
        self.said: list[str] = []
        self.hello: Json = {}
        self.claim_code = secrets.token_hex(3).upper()
        self._socket = socket
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._prompting: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    async def greet(self, capabilities: Json) -> None:
        request = json.loads(await self._socket.recv())
        assert request["method"] == "tesseron/hello", request
        self.hello = request["params"]
        welcome = {
            "sessionId": "s1", "protocolVersion": "1.2.0", "capabilities": {**EVERYTHING, **capabilities},
            "agent": {"id": "pending", "name": "Awaiting agent"}, "claimCode": self.claim_code,
        }  # fmt: skip
        await self._send(id=request["id"], result=welcome)

    async def claim(self, code: str) -> None:
        """What an agent does with the code that a person reads off the app."""
        assert code == self.claim_code
        params = {"agent": {"id": "agent", "name": "An agent"}, "claimedAt": 0}
        await self._send(method="tesseron/claimed", params=params)

    async def read(self) -> None:
        async for frame in self._socket:
            message = json.loads(frame)
            if message.get("method") == "elicitation/request":
                task = asyncio.create_task(self._prompted(message))
                self._prompting.add(task)
                task.add_done_callback(self._prompting.discard)
            elif message.get("method") == "actions/progress":
                self.said.append(message["params"].get("message", ""))
            elif "method" not in message:
                self._waiting[message["id"]].set_result(message)
            async with self._changed:
                self._changed.notify_all()

    async def _prompted(self, request: Json) -> None:
        self.prompts.append(request["params"])
        self.open_prompts += 1
        async with self._changed:
            self._changed.notify_all()
        try:
            await self._send(id=request["id"], result=await self.answer(request["params"]))
        except Refused as refused:
            await self._send(id=request["id"], error={"code": refused.code, "message": refused.message})
        finally:
            self.open_prompts -= 1

    async def _send(self, **members: Any) -> None:
        await self._socket.send(json.dumps({"jsonrpc": "2.0", **members}))

    async def begin(self, action: str, given: Any = None) -> str:
        """Starts an invocation; its id."""
        invocation = f"inv-{secrets.token_hex(4)}"
        self._waiting[invocation] = asyncio.get_running_loop().create_future()
        params = {"name": action, "input": given or {}, "invocationId": invocation, "client": {"origin": "test"}}
        await self._send(id=invocation, method="actions/invoke", params=params)
        return invocation

    async def end(self, invocation: str) -> Any:
        """The output. Raises Refused."""
        async with asyncio.timeout(within(SOON)):
            message = await self._waiting[invocation]
        if "error" in message:
            raise Refused(message["error"]["code"], message["error"]["message"], message["error"].get("data"))
        return message["result"]["output"]

    async def invoke(self, action: str, given: Any = None) -> Any:
        return await self.end(await self.begin(action, given))

    async def cancel(self, invocation: str) -> None:
        await self._send(method="actions/cancel", params={"invocationId": invocation})

    async def asked(self) -> None:
        """Waits until there was a prompt."""
        await self._until(lambda: self.prompts)

    async def link(self) -> str:
        """The first link that a prompt or a progress message has."""
        await self._until(self.links)
        return self.links()[0]

    async def _until(self, ready: Callable[[], Any]) -> None:
        async with asyncio.timeout(within(SOON)), self._changed:
            await self._changed.wait_for(ready)

    def links(self) -> list[str]:
        return LINK.findall("\n".join([*self.said, *(prompt["question"] for prompt in self.prompts)]))


@asynccontextmanager
async def dial(url: str, **capabilities: bool) -> AsyncIterator[Gateway]:
    """Dials in, greets, and answers until the block ends. ``capabilities``: those that the agent lacks, as False."""
    async with connect(url, subprotocols=[Subprotocol("tesseron-gateway")], proxy=None) as socket:
        gateway = Gateway(socket)
        await gateway.greet(capabilities)
        reading = asyncio.create_task(gateway.read())
        try:
            yield gateway
        finally:
            for task in [reading, *gateway._prompting]:
                task.cancel()
            await asyncio.gather(reading, *gateway._prompting, return_exceptions=True)
