"""An AHP client, written from the specification: no vendor's can be had from a registry of packages.

It keeps the state of what it subscribes to by reducers of its own, as far as input requests go, and holds every action
that it hears to the schema.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from websockets.sync.client import connect

from elicit_flows.domain.values import Json
from tests.sdk.ahp import actions

SECONDS = 20.0


@dataclass
class View:
    """``requests`` by id as they stand, ``responses`` of those that have one, how turns ended, what was said."""

    requests: dict[str, Json] = field(default_factory=dict)
    responses: dict[str, str] = field(default_factory=dict)
    active: str | None = None
    ended: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, state: Json) -> View:
        view = cls(needed={one["id"]: one["chat"] for one in state.get("inputNeeded", [])})
        turns = [*state.get("turns", []), *([state["activeTurn"]] if "activeTurn" in state else [])]
        for part in (part for turn in turns for part in turn["responseParts"]):
            view._part(part)
        view.ended = {turn["id"]: turn["state"] for turn in turns if "state" in turn}
        view.active = state.get("activeTurn", {}).get("id")
        return view

    def _part(self, part: Json) -> None:
        if part["kind"] == "inputRequest":
            self.requests[part["request"]["id"]] = {"answers": {}, **part["request"]}
            self.responses |= {part["request"]["id"]: part["response"]} if "response" in part else {}
        elif part["kind"] == "toolCall":
            self.calls[part["toolCall"]["toolCallId"]] = part["toolCall"]["status"]
        else:
            self.texts.append(part["content"])

    def take(self, action: Json) -> None:
        kind = action["type"].partition("/")[2]
        change: Callable[[Json], None] | None = getattr(self, f"_{kind}", None)
        if change:
            change(action)

    def _turnStarted(self, action: Json) -> None:
        self.active = action["turnId"]

    def _turnComplete(self, action: Json) -> None:
        self.active, self.ended[action["turnId"]] = None, "complete"

    def _turnCancelled(self, action: Json) -> None:
        self.active, self.ended[action["turnId"]] = None, "cancelled"
        self.calls = {key: one if one == "completed" else "cancelled" for key, one in self.calls.items()}

    def _responsePart(self, action: Json) -> None:
        self._part(action["part"])

    def _open(self, action: Json) -> Json | None:
        return None if action["requestId"] in self.responses else self.requests.get(action["requestId"])

    def _inputRequested(self, action: Json) -> None:
        request = action["request"]
        kept = self.requests.get(request["id"], {}).get("answers", {})
        self.requests[request["id"]] = {"answers": kept, **request}

    def _inputAnswerChanged(self, action: Json) -> None:
        if request := self._open(action):
            rest = {key: one for key, one in request["answers"].items() if key != action["questionId"]}
            request["answers"] = rest | ({action["questionId"]: action["answer"]} if "answer" in action else {})

    def _inputCompleted(self, action: Json) -> None:
        if request := self._open(action):
            request["answers"] = {**request["answers"], **action.get("answers", {})}
            self.responses[action["requestId"]] = action["response"]

    def _inputNeededSet(self, action: Json) -> None:
        self.needed[action["request"]["id"]] = action["request"]["chat"]

    def _inputNeededRemoved(self, action: Json) -> None:
        self.needed.pop(action["id"], None)

    def _toolCallStart(self, action: Json) -> None:
        self.calls[action["toolCallId"]] = "streaming"

    def _toolCallReady(self, action: Json) -> None:
        self.calls[action["toolCallId"]] = "running"

    _toolCallAuthResolved = _toolCallReady

    def _toolCallAuthRequired(self, action: Json) -> None:
        self.calls[action["toolCallId"]] = "auth-required"

    def _toolCallComplete(self, action: Json) -> None:
        self.calls[action["toolCallId"]] = "completed"


class Client:
    def __init__(self, url: str, name: str) -> None:
        self._url, self.name = url, name
        self._numbers = itertools.count(1)
        self.heard: list[Json] = []
        self.views: dict[str, View] = {}
        self.seq = 0
        self.connect()

    def connect(self) -> None:
        self._stack = ExitStack()
        self._socket = self._stack.enter_context(connect(self._url, proxy=None))

    def close(self) -> None:
        self._stack.close()

    # JSON-RPC.

    def request(self, method: str, **params: Any) -> Any:
        """The result; AssertionError with the error."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        while (message := self.receive()).get("id") != number:
            pass
        assert "error" not in message, message["error"]
        return message["result"]

    def notify(self, method: str, **params: Any) -> None:
        self._socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def receive(self) -> Json:
        message: Json = json.loads(self._socket.recv(timeout=SECONDS))
        if message.get("method") == "action":
            self._take(message["params"])
        return message

    def _take(self, envelope: Json) -> None:
        assert envelope["serverSeq"] > self.seq, f"{envelope['serverSeq']} after {self.seq}"
        self.seq = envelope["serverSeq"]
        self.heard.append(envelope)
        if "rejectionReason" not in envelope:
            action = actions.check(envelope["action"])
            if envelope["channel"] in self.views:
                self.views[envelope["channel"]].take(action)

    # AHP.

    def initialize(self, *channels: str) -> Json:
        result: Json = self.request(
            "initialize", channel="ahp-root://", protocolVersions=["1.1.0", "1.0.0", "0.9.0"], clientId=self.name,
            initialSubscriptions=list(channels),
        )  # fmt: skip
        self.seq = result["serverSeq"]
        self._load(result["snapshots"])
        return result

    def reconnect(self) -> Json:
        self.connect()
        result: Json = self.request(
            "reconnect", channel="ahp-root://", clientId=self.name, lastSeenServerSeq=self.seq,
            subscriptions=list(self.views),
        )  # fmt: skip
        for envelope in result.get("actions", []):
            self._take(envelope)
        self._load(result.get("snapshots", []))
        return result

    def _load(self, snapshots: list[Json]) -> None:
        for one in snapshots:
            self.views[one["resource"]] = View.of(one["state"])
            self.seq = one["fromSeq"]

    def snapshot(self, channel: str) -> Json:
        """What somebody sees who comes now."""
        state: Json = self.request("subscribe", channel=channel)["snapshot"]["state"]
        return state

    def dispatch(self, channel: str, action: Json) -> str | None:
        """The reason of its rejection, when it was echoed; None when it holds."""
        number = next(self._numbers)
        self.notify("dispatchAction", channel=channel, clientSeq=number, action=action)
        mine = {"clientId": self.name, "clientSeq": number}
        self.until(lambda: any(one.get("origin") == mine for one in self.heard), f"the echo of {action}")
        echo = next(one for one in self.heard if one.get("origin") == mine)
        assert echo["action"] == action
        reason: str | None = echo.get("rejectionReason")
        return reason

    def until(self, ready: Callable[[], Any], what: str) -> Any:
        """Listens until it is so."""
        while not (found := ready()):
            try:
                self.receive()
            except TimeoutError:
                raise AssertionError(f"{what}: not within {SECONDS} s") from None
        return found

    # What a user does there.

    def say(self, channel: str, text: str) -> str:
        """Begins a turn; its id."""
        turn = uuid.uuid4().hex
        message = {"text": text, "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-11-21T10:00:00Z", "message": message}
        assert self.dispatch(channel, action) is None
        return turn

    def ask(self, channel: str, text: str) -> Json:
        """Begins a turn; the request that it opens."""
        before = set(self.views[channel].requests)
        self.say(channel, text)
        return self.opened(channel, before)

    def opened(self, channel: str, before: set[str]) -> Json:
        view = self.views[channel]
        [found] = self.until(lambda: set(view.requests) - before, "a request is opened")
        return view.requests[found]

    def answer(self, channel: str) -> str:
        """What the active turn says in the end."""
        view = self.views[channel]
        self.until(lambda: view.active is None, "the turn ends")
        return view.texts[-1]

    def cancel_turn(self, channel: str) -> None:
        if turn := self.views[channel].active:
            self.dispatch(channel, {"type": "chat/turnCancelled", "turnId": turn, "duration": 0})
