"""One guard in the file: what is asked, and where what it brings is put."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.lib.text import visible
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.mcp.messages import NotRun, refused
from elicit_flows.sdk.mcp.remote import covers
from elicit_flows.sdk.outcomes import Completed
from elicit_flows.sdk.questions import Plain, Question

KINDS = ("oauth", "payment", "credentials", "form", "confirm", "url_action", "steps")
WITH_TOKEN = ("oauth",)
WITH_FIELDS = ("credentials", "form")
PLACES = ("argument", "header", "env")
TOKEN = ""  # the field of a connection's access token
HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MAX_VALUE = 500  # characters of one argument in a message
NOT_GIVEN = "(not given)"


class AskError(Exception):
    """What is wrong with a guard in the file, and where."""


@dataclass(frozen=True, slots=True)
class Place:
    """By name of the argument, header or variable: the field that is put there."""

    argument: dict[str, str] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.argument or self.header or self.env)


@dataclass(frozen=True, slots=True)
class Put:
    """What one call gets: arguments, headers and variables. ``secrets``: what of it no client may see."""

    arguments: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a guard asks. ``options``: the arguments of the method of the same name as in Python."""

    kind: str
    options: Json
    place: Place

    def __call__(self, /, **arguments: Any) -> Question:
        """The question for a call with these arguments. Raises NotRun if its texts would be too long."""
        try:
            told = dict(self.options)
            for name in ("message", "description"):
                if name in told:
                    told[name] = filled(told[name], arguments)
            if "detail" in told.get("words", {}):
                told["words"] = {**told["words"], "detail": filled(told["words"]["detail"], arguments)}
            return _question(self.kind, told)
        except (TypeError, ValueError) as wrong:
            raise NotRun(
                refused(f"The user cannot be asked about these arguments: {wrong}", "bad_arguments")
            ) from wrong

    async def put(self, elicit: Elicit, done: Completed, into: Put, url: str | None) -> None:
        """Add what the user gave. ``url``: the server's address. Raises ElicitError, and NotRun for a token that is not
        for this server.
        """
        if not self.place:
            return
        values, bearer = await self._brought(elicit, done, into, url)
        into.arguments.update({name: values[of] for name, of in self.place.argument.items() if of in values})
        into.env.update({name: str(values[of]) for name, of in self.place.env.items() if of in values})
        for name, of in self.place.header.items():
            if of in values:
                text = bearer if of == TOKEN and name.lower() == "authorization" else str(values[of]).strip()
                if not (text.isascii() and text.isprintable()):
                    raise NotRun(refused("What the user gave has a character that no header can have.", "bad_value"))
                into.headers[name] = text

    async def _brought(self, elicit: Elicit, done: Completed, into: Put, url: str | None) -> tuple[Json, str]:
        """By field; and the value of an Authorization header."""
        if self.kind == "form":
            return dict(done.result.get("content") or {}), ""
        if self.kind == "credentials":
            values = {name: one.reveal() for name, one in (await elicit.secret(done)).items()}
            into.secrets.extend(values.values())
            return values, ""
        token = await elicit.token(done)
        into.secrets.append(token.access_token)
        if token.resource is not None and not (url and covers(token.resource, url)):
            raise NotRun(refused("The account's token is for another server than this one.", "wrong_resource"))
        return {TOKEN: token.access_token}, token.authorization


def asked(told: Json, place: str) -> Asked:
    """Read one guard. Raises AskError, whose text begins with ``place``."""
    rest = dict(told)
    kind = rest.pop("ask", None)
    if kind not in KINDS:
        raise AskError(f"{place}.ask: Give one of {', '.join(KINDS)}.")
    placed = Place(**{name: _fields(kind, name, rest.pop(name, {}), place) for name in PLACES})
    known = _given(kind, rest)
    wanted = [of for where in (placed.argument, placed.header, placed.env) for of in where.values()]
    unknown = [] if known is None else [of for of in wanted if of not in known]
    if unknown:
        asks = "The form has no question" if kind == "form" else "There is no field"
        raise AskError(f"{place}: {asks} {unknown[0]!r}.")
    for name in ("idempotency_key", "metadata"):
        if name in rest:
            raise AskError(f"{place}.{name}: The gateway sets this itself.")
    texts = [rest.get("message"), rest.get("description"), (rest.get("words") or {}).get("detail")]
    try:
        for text in texts:
            if isinstance(text, str):
                filled(text, {})
        _question(kind, rest)
    except (TypeError, ValueError) as wrong:
        said = re.sub(r"^(Questions|Plain)\.\w+\(\) ", "", str(wrong))
        raise AskError(f"{place}: {said}") from wrong
    return Asked(kind, rest, placed)


def _given(kind: str, told: Json) -> set[str] | None:
    """The names of what the user gives; None if the file does not say them."""
    schema, fields = told.get("schema"), told.get("fields")
    if kind == "form" and isinstance(schema, dict):
        return set(schema.get("properties", {}))
    if kind == "credentials" and isinstance(fields, list):
        return {str(one.get("name")) for one in fields if isinstance(one, dict)}
    return None


def own(arguments: Json, asked_: Iterable[Asked]) -> Json:
    """A call's arguments without those that the gateway puts in, which are not the model's to give."""
    placed = {name for one in asked_ for name in one.place.argument}
    return {name: value for name, value in arguments.items() if name not in placed}


def filled(text: str, arguments: Json) -> str:
    """``text`` with the values of ``{name}``. Only names of arguments are replaced, nothing is looked up in a value.

    Raises ValueError for a brace that is no such name.
    """

    def put(match: re.Match[str]) -> str:
        found = match.group(0)
        if found in ("{{", "}}"):
            return found[0]
        name = match.group(1)
        if name is None or not NAME.fullmatch(name):
            raise ValueError(f"{found!r}: Name an argument in braces, or write {{{{ and }}}} for braces.")
        return _shown(arguments[name]) if name in arguments else NOT_GIVEN

    return HOLE.sub(put, text)


def _shown(value: Any) -> str:
    """A value in one line, in quotes that it cannot leave, and whole or not at all."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_VALUE:
        raise ValueError(f"An argument has {len(text)} characters; the user is shown {MAX_VALUE} at most.")
    line = " ".join(visible(text).split()).replace("“", '"').replace("”", '"')
    return f"“{line}”"


def _question(kind: str, told: Json) -> Question:
    question: Question = getattr(Plain(), kind)(**told)
    return question


def _fields(kind: str, name: str, told: object, place: str) -> dict[str, str]:
    """``argument = "token"``, or ``argument = {api_key = "key"}`` for what has fields."""
    if isinstance(told, str) and kind in WITH_TOKEN:
        return {told: TOKEN}
    if (
        isinstance(told, dict)
        and (not told or kind in WITH_FIELDS)
        and all(isinstance(of, str) for of in told.values())
    ):
        return dict(told)
    if kind in WITH_TOKEN:
        raise AskError(f'{place}.{name}: Say where the token is put, such as {name} = "name".')
    if kind in WITH_FIELDS:
        raise AskError(f'{place}.{name}: Say which field is put where, such as {name} = {{ name = "field" }}.')
    raise AskError(f"{place}.{name}: {kind} brings nothing that could be put there.")
