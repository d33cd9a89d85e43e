"""Answers from the person at a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form.formats import FORMATS, fault
from elicit_flows.sdk.hosts.links import WARNINGS, link
from elicit_flows.wires.reply import ACCEPT, ACTIONS, CANCEL, DECLINE

MOST = 1e308  # JSON has no infinity
YES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
READ: dict[str, Callable[[str], Any]] = {"integer": int, "number": float, "boolean": lambda line: YES[line.lower()]}


class Terminal:
    """An ``answer`` for ``run``: it prints each question and reads the answer. The end of the input cancels.

    A link is printed with its host and what to be careful of; none is opened, and one that must not be is declined. Of
    a form each property is read from a line, until it fits; an empty line leaves it out, or takes its default.
    """

    def __init__(self, read: Callable[[str], str] = input, write: Callable[[str], object] = print) -> None:
        self._read, self._write = read, write

    async def __call__(self, key: str, request: Json) -> Json:
        try:
            return await asyncio.to_thread(self._answer, request.get("params", {}))
        except EOFError:
            return {"action": CANCEL}

    def _answer(self, params: Json) -> Json:
        self._write(shown(params.get("message", "")))
        if "url" in params:
            try:
                asked = link(params["url"])
            except ValueError as refused:
                self._write(f"{shown(refused)} It is declined.")
                return {"action": DECLINE}
            self._write(f"{asked.url}\nThis link leads to {asked.host}.")
            for code in asked.warnings:
                self._write(f"Careful: {WARNINGS[code]}")
        while (action := self._read("accept, decline or cancel: ").strip().lower()) not in ACTIONS:
            self._write("Type accept, decline or cancel.")
        schema = params.get("requestedSchema")
        if action != ACCEPT or schema is None:
            return {"action": action}
        required = schema.get("required", ())
        content = {name: self._value(name, prop, name in required) for name, prop in schema["properties"].items()}
        return {"action": ACCEPT, "content": {name: value for name, value in content.items() if value is not None}}

    def _value(self, name: str, prop: Json, required: bool) -> Any:
        label = shown(prop.get("title") or name)
        if "description" in prop:
            self._write(shown(prop["description"]))
        of = prop.get("items", prop)
        options = of.get("enum") or [one["const"] for one in of.get("oneOf") or of.get("anyOf") or ()]
        hint = ", ".join(map(shown, options)) or shown(prop.get("format") or "")
        while True:
            line = self._read(f"{label} ({hint}): " if hint else f"{label}: ").strip()
            if not line and ("default" in prop or not required):
                return prop.get("default")
            try:
                return _read_as(prop, line, options)
            except (KeyError, ValueError):
                self._write("That does not fit.")


def shown(text: Any) -> str:
    """``text`` without what a terminal would obey: the server is somebody else's."""
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in str(text))


def _read_as(prop: Json, line: str, options: list[Any]) -> Any:
    """The value that ``line`` means. Raises ValueError or KeyError if it does not fit."""
    kind = prop.get("type")
    found: Any = line
    if kind == "array":
        found = list(_chosen(line, options))
    elif not line or (options and line not in options):
        raise ValueError(line)
    elif kind in READ:
        found = READ[kind](line)
    elif prop.get("format") in FORMATS and fault(prop["format"], line):
        raise ValueError(line)
    least = "minItems" if kind == "array" else "minimum" if kind in READ else "minLength"
    low, high = prop.get(least), prop.get(least.replace("min", "max"))
    size = found if kind in READ else len(found)
    if not (-MOST if low is None else low) <= size <= (MOST if high is None else high):
        raise ValueError(line)
    return found


def _chosen(line: str, options: list[str]) -> Iterator[str]:
    """The options in ``line``, which may have commas themselves. Raises ValueError."""
    while line:
        fits = [one for one in options if line.startswith(one) and line[len(one) :].lstrip()[:1] in ("", ",")]
        one = max(fits, key=len)  # ValueError if none fits
        yield one
        line = line[len(one) :].lstrip().removeprefix(",").lstrip()
