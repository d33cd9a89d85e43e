"""MCP 2026-07-28 over streamable HTTP, by hand: what goes out and what comes back is what a test sees."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx2

from elicit_flows.domain.values import Json
from tests.wires.validator import Schema

MCP = Schema("mcp-2026-07-28.json")
REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
}


def call(tool: str, **arguments: Any) -> Json:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    return {"jsonrpc": "2.0", "id": "the-first", "method": "tools/call", "params": params}


def text(response: Json) -> str:
    assert "result" in response, response
    return str(response["result"]["content"][0]["text"])


class Http:
    """A ``send``. Of several ``urls`` each takes a request in turn. ``sent`` and ``heard`` are valid, or it fails."""

    def __init__(self, client: httpx2.AsyncClient, *urls: str) -> None:
        self._client = client
        self._urls = itertools.cycle(urls)
        self.sent: list[Json] = []
        self.heard: list[Json] = []

    async def __call__(self, request: Json) -> Json:
        self.sent.append(request)
        MCP.check("InputResponses", request["params"].get("inputResponses", {}))
        headers = {
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION,
            "Mcp-Method": request["method"], "Mcp-Name": request["params"]["name"],
        }  # fmt: skip
        answer = await self._client.post(next(self._urls), json=request, headers=headers)
        response = self._message(answer)
        assert response["id"] == request["id"]
        if response.get("result", {}).get("resultType") == "input_required":
            MCP.check("InputRequiredResult", response["result"])
        self.heard.append(response)
        return response

    def _message(self, answer: httpx2.Response) -> Json:
        if not answer.headers["content-type"].startswith("text/event-stream"):
            return dict(answer.json())
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
        return dict(json.loads(lines[-1]))
