"""One client: JSON-RPC 2.0 in text frames of a WebSocket (AHP, "Connection Lifecycle")."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from websockets.asyncio.server import ServerConnection

from ahp.channels import Channels
from ahp.state import Json

VERSION = re.compile(r"1\.(\d+)\.(\d+)")
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION, NOT_FOUND = -32005, -32008
Dispatched = Callable[[str, Json, Json], Awaitable[None]]


class RpcError(Exception):
    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message} | ({"data": data} if data else {})
        self.unreadable = code in (PARSE_ERROR, INVALID_REQUEST)


class Connection:
    """``dispatched`` is called with channel, action and origin, for one action after the other."""

    def __init__(self, socket: ServerConnection, channels: Channels, dispatched: Dispatched) -> None:
        self._socket = socket
        self._channels = channels
        self._dispatched = dispatched
        self._client = ""
        self._subscribed: set[str] = set()
        self._out: asyncio.Queue[Json | None] = asyncio.Queue()  # None: close the connection
        self._methods: dict[str, tuple[Callable[[Json], Any], dict[str, type]]] = {
            "initialize": (self._initialize, {"protocolVersions": list, "clientId": str}),
            "reconnect": (self._reconnect, {"clientId": str, "lastSeenServerSeq": int, "subscriptions": list}),
            "subscribe": (self._subscribe, {"channel": str}),
            "unsubscribe": (self._unsubscribe, {"channel": str}),
            "dispatchAction": (self._dispatch, {"channel": str, "clientSeq": int, "action": dict}),
        }

    async def serve(self) -> None:
        stop = self._channels.listen(self._tell)
        writer = asyncio.create_task(self._write())
        try:
            async for frame in self._socket:
                await self._take(frame)
        finally:
            stop()
            writer.cancel()

    async def _write(self) -> None:
        while message := await self._out.get():
            await self._socket.send(json.dumps(message))
        await self._socket.close()

    def _say(self, **message: Any) -> None:
        self._out.put_nowait({"jsonrpc": "2.0", **message})

    def _tell(self, envelope: Json) -> None:
        """Send an action to the clients that subscribe to the channel, and to its sender."""
        own = envelope.get("origin", {}).get("clientId") == self._client
        if self._client and (own or envelope["channel"] in self._subscribed):
            self._say(method="action", params=envelope)

    async def _take(self, frame: str | bytes) -> None:
        """Handle a notification, which is never answered, even if it is wrong."""
        number = None
        try:
            message = _read(frame)
            number = message.get("id")
            result = await self._call(message["method"], message.get("params"))
            if number is not None:
                self._say(id=number, result=result)
        except RpcError as error:
            if number is not None or error.unreadable:
                self._say(id=number, error=error.body)
            if error.body["code"] == UNSUPPORTED_VERSION:
                self._out.put_nowait(None)

    async def _call(self, method: str, params: Any) -> Any:
        if method not in self._methods:
            raise RpcError(NO_METHOD, f"There is no method {method!r}.")
        if not self._client and method not in ("initialize", "reconnect"):
            raise RpcError(INVALID_REQUEST, "Say initialize first.")
        call, needed = self._methods[method]
        if not isinstance(params, dict) or not all(isinstance(params.get(name), sort) for name, sort in needed.items()):
            raise RpcError(INVALID_PARAMS, f"{method} needs {', '.join(needed)}.")
        answer = call(params)
        return await answer if isawaitable(answer) else answer

    def _initialize(self, params: Json) -> Json:
        offered = [found for one in params["protocolVersions"] if (found := VERSION.fullmatch(str(one)))]
        if not offered:
            raise RpcError(UNSUPPORTED_VERSION, "This host speaks AHP 1.", {"supportedVersions": ["1.0.0"]})
        version = max(offered, key=lambda found: [int(part) for part in found.groups()]).group()
        self._client = params["clientId"]
        self._subscribed = {one for one in params.get("initialSubscriptions", []) if one in self._channels}
        snapshots = self._channels.snapshots(self._subscribed)
        return {"protocolVersion": version, "serverSeq": self._channels.seq, "snapshots": snapshots}

    def _reconnect(self, params: Json) -> Json:
        self._client = params["clientId"]
        self._subscribed = {one for one in params["subscriptions"] if one in self._channels}
        missed = self._channels.since(params["lastSeenServerSeq"])
        if missed is None:
            return {"type": "snapshot", "snapshots": self._channels.snapshots(self._subscribed)}
        actions = [one for one in missed if one["channel"] in self._subscribed]
        gone = [one for one in params["subscriptions"] if one not in self._subscribed]
        return {"type": "replay", "actions": actions, "missing": gone}

    def _subscribe(self, params: Json) -> Json:
        if params["channel"] not in self._channels:
            raise RpcError(NOT_FOUND, "There is no such channel.")
        self._subscribed.add(params["channel"])
        return {"snapshot": self._channels.snapshots([params["channel"]])[0]}

    def _unsubscribe(self, params: Json) -> None:
        self._subscribed.discard(params["channel"])

    async def _dispatch(self, params: Json) -> None:
        origin = {"clientId": self._client, "clientSeq": params["clientSeq"]}
        await self._dispatched(params["channel"], params["action"], origin)


def _read(frame: str | bytes) -> Json:
    try:
        message = json.loads(frame) if isinstance(frame, str) else None
    except ValueError as error:
        raise RpcError(PARSE_ERROR, "This is no JSON.") from error
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        raise RpcError(INVALID_REQUEST, "Say JSON-RPC in a text frame.")
    return message
