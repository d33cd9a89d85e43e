"""Answers that a test wrote down in advance, in place of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Self

from elicit_flows.domain.values import Json
from elicit_flows.wires.reply import ACCEPT, ACTIONS

Script = Mapping[str, str | Json | Callable[[str], object]]


class Unscripted(LookupError):
    """The script has no answer for what the server asked."""


class Scripted:
    """An ``answer`` for ``run``. Each entry of ``script`` answers the questions whose message contains its key:

    - a word: accept, decline or cancel;
    - a dict: the values of a form by property. Values that the form does not ask for are left out, and so are optional
      properties without a value;
    - a function: it is called with the link in a thread of its own, and does there what a person would.

    ``asked`` has the messages in order. Raises Unscripted.
    """

    def __init__(self, script: Script) -> None:
        self._script = dict(script)
        self.asked: list[str] = []

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """The script from YAML, such as ``Which plan?: {plan: pro}`` or ``Delete: decline``; it needs PyYAML.

        Raises ValueError for anything but a mapping to words and mappings.
        """
        script = import_module("yaml").safe_load(text)
        if not isinstance(script, dict) or not all(
            isinstance(words, str) and (isinstance(entry, dict) or entry in ACTIONS) for words, entry in script.items()
        ):
            raise ValueError(f"Map words of each message to {', '.join(ACTIONS)} or to the values of a form.")
        return cls(script)

    async def __call__(self, key: str, request: Json) -> Json:
        params = request.get("params", {})
        message = str(params.get("message", request["method"]))
        self.asked.append(message)
        entry = next((entry for words, entry in self._script.items() if words in message), None)
        if isinstance(entry, str) and entry in ACTIONS:
            return {"action": entry}
        if isinstance(entry, dict) and "requestedSchema" in params:
            schema = params["requestedSchema"]
            missing = set(schema.get("required", ())) - entry.keys()
            if missing:
                raise Unscripted(f"{message!r} needs {sorted(missing)} as well")
            return {
                "action": ACCEPT,
                "content": {name: entry[name] for name in schema.get("properties", {}) if name in entry},
            }
        if callable(entry) and "url" in params:
            await asyncio.to_thread(entry, params["url"])
            return {"action": ACCEPT}
        raise Unscripted(f"The script has no answer that fits {message!r}, only {entry!r}")
