"""MCP by hand, to see each message as it is: every one of the server's is held to its revision's schema."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx2

from tests.wires.validator import Schema

Json = dict[str, Any]
URL = {"elicitation": {"url": {}}}
NEW, OLD = Schema("mcp-2026-07-28.json"), Schema("mcp-2025-11-25.json")
ACCEPTS = {"accept": "application/json, text/event-stream"}
OPEN: list[httpx2.Client] = []


def http(token: str) -> httpx2.Client:
    """One that the fixtures close."""
    client = httpx2.Client(trust_env=False, timeout=30, headers=ACCEPTS)
    if token:
        client.headers["authorization"] = f"Bearer {token}"
    OPEN.append(client)
    return client


def events(response: httpx2.Response) -> Iterator[Json]:
    if "text/event-stream" not in response.headers.get("content-type", ""):
        yield json.loads(response.read())
        return
    for line in response.iter_lines():
        if line.startswith("data:") and line[5:].strip():
            yield json.loads(line[5:])


def text(answer: Json) -> str:
    return str(answer["result"]["content"][0]["text"])


class Modern:
    """Each call is on its own. ``status`` is that of the last."""

    version = "2026-07-28"

    def __init__(self, url: str, token: str = "") -> None:
        self.http = http(token)
        self.url, self.ids, self.status = url, itertools.count(1), 0
        self.told: list[Json] = []

    def call(
        self,
        tool: str,
        arguments: Json | None = None,
        *,
        can: Json = URL,
        name: str = "tests",
        token: str = "",
        **more: Any,
    ) -> Json:
        """``more``: ``inputResponses`` and ``requestState``. The JSON-RPC answer."""
        params = {"name": tool, "arguments": arguments or {}, **more}
        return self.request("tools/call", params, tool, can=can, name=name, token=token)

    def request(
        self, method: str, params: Json, called: str = "", *, can: Json = URL, name: str = "tests", token: str = ""
    ) -> Json:
        """``called``: what the header says that it is about. ``token``: for progress, which ``told`` then has."""
        about = {
            "io.modelcontextprotocol/protocolVersion": self.version,
            "io.modelcontextprotocol/clientCapabilities": can,
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        }
        about |= {"progressToken": token} if token else {}
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": {**params, "_meta": about}}
        headers = {"mcp-protocol-version": self.version, "mcp-method": method}
        headers |= {"mcp-name": called} if called else {}
        with self.http.stream("POST", self.url, json=body, headers=headers) as response:
            self.status = response.status_code
            *self.told, answer = events(response)
        if answer.get("result", {}).get("resultType") == "input_required":
            NEW.check("InputRequiredResult", answer["result"])
        return answer

    def listen(self, heard: list[str]) -> None:
        """``heard`` gets the methods of what comes on the stream of one's own, until the client is closed."""
        about = {
            "io.modelcontextprotocol/protocolVersion": self.version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"notifications": {"toolsListChanged": True}, "_meta": about}
        body = {"jsonrpc": "2.0", "id": "ears", "method": "subscriptions/listen", "params": params}
        headers = {"mcp-protocol-version": self.version, "mcp-method": body["method"]}
        with suppress(httpx2.TransportError), self.http.stream("POST", self.url, json=body, headers=headers) as stream:
            for message in events(stream):
                assert message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "ears"
                heard.append(message["method"])

    def retry(self, answer: Json, tool: str, arguments: Json | None = None, **more: Any) -> Json:
        """The same call, with everything that was asked accepted unless ``inputResponses`` says otherwise."""
        asked = answer["result"].get("inputRequests") or {}
        responses = {"inputResponses": {key: {"action": "accept"} for key in asked}} if asked else {}
        return self.call(tool, arguments, **{**responses, "requestState": answer["result"]["requestState"], **more})


class Legacy:
    """One session. ``asked`` are the params of what the server pushed, ``told`` its notifications."""

    version = "2025-11-25"

    def __init__(self, url: str, can: Json = URL, *, token: str = "", name: str = "tests") -> None:
        self.http = http(token)
        self.url, self.ids = url, itertools.count(1)
        self.asked: list[Json] = []
        self.told: list[Json] = []
        about = {"protocolVersion": self.version, "capabilities": can, "clientInfo": {"name": name, "version": "1"}}
        answer = self.http.post(url, json=self._request("initialize", about))
        self.http.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self.http.headers["mcp-protocol-version"] = self.version
        self.http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _request(self, method: str, params: Json) -> Json:
        return {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}

    def call(
        self, tool: str, arguments: Json | None = None, *, then: Callable[[str], object] | None = None,
        action: str | None = "accept",
    ) -> Json:  # fmt: skip
        """Answers what is pushed with ``action`` (None: not at all), then does ``then`` with its link."""
        params = {"name": tool, "arguments": arguments or {}}
        return self.request("tools/call", params, then=then, action=action)

    def request(
        self, method: str, params: Json | None = None, *, then: Callable[[str], object] | None = None,
        action: str | None = "accept",
    ) -> Json:  # fmt: skip
        body = self._request(method, params or {})
        with self.http.stream("POST", self.url, json=body) as response:
            for message in events(response):
                if message.get("id") == body["id"] and "method" not in message:
                    return message
                self._take(message, then, action)
        raise AssertionError("the call was not answered")

    def _take(self, message: Json, then: Callable[[str], object] | None, action: str | None) -> None:
        if message["method"] != "elicitation/create":
            if message["method"] == "notifications/elicitation/complete":
                OLD.check("ElicitationCompleteNotification", message)
            self.told.append(message)
            return
        OLD.check("ElicitRequest", message)
        self.asked.append(message["params"])
        if action:
            self.http.post(self.url, json={"jsonrpc": "2.0", "id": message["id"], "result": {"action": action}})
        if then:
            then(message["params"]["url"])

    def listen(self, seconds: float) -> None:
        """Hears the stream that belongs to no call for so long, or what is left of it: there may be only one."""
        try:
            with self.http.stream("GET", self.url, timeout=seconds) as response:
                if response.status_code == httpx2.codes.CONFLICT:
                    return
                for message in events(response):
                    self.told.append(message)
        except httpx2.ReadTimeout:
            return
