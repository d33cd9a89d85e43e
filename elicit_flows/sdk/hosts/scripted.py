"""Answers that a test wrote down before, in place of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from elicit_flows.values import Json
from elicit_flows.wires.reply import ACCEPT, ACTIONS

Script = Mapping[str, str | Json | Callable[[str], object]]


class Unscripted(LookupError):
    """The server asked for something that the script has no answer to."""


class Scripted:
    """An ``answer`` for ``run``. Each entry of ``script`` answers the questions whose message contains its key:

    - a word: accept, decline or cancel;
    - a dict: the values of a form, by property. Those that are not asked for, and optional ones that are not there, are
      left out;
    - a function: it is given the link, in a thread of its own, and does with it what a person would.

    ``asked`` has the messages in order. Raises Unscripted.
    """

    def __init__(self, script: Script) -> None:
        self._script = dict(script)
        self.asked: list[str] = []

    async def __call__(self, key: str, request: Json) -> Json:
        params = request.get("params", {})
        message = str(params.get("message", request["method"]))
        self.asked.append(message)
        entry = next((entry for words, entry in self._script.items() if words in message), None)
        if isinstance(entry, str) and entry in ACTIONS:
            return {"action": entry}
        if isinstance(entry, dict) and "requestedSchema" in params:
            return {"action": ACCEPT, "content": _content(params["requestedSchema"], entry, message)}
        if callable(entry) and "url" in params:
            await asyncio.to_thread(entry, params["url"])
            return {"action": ACCEPT}
        raise Unscripted(f"There is no answer to {message!r} that fits: {entry!r}")


def _content(schema: Json, values: Json, message: str) -> dict[str, Any]:
    missing = set(schema.get("required", ())) - values.keys()
    if missing:
        raise Unscripted(f"{message!r} needs {sorted(missing)} as well")
    return {name: values[name] for name in schema.get("properties", {}) if name in values}
