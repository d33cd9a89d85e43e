"""Forms from Python types: a Pydantic model, a dataclass or a TypedDict as the schema, and the answer as that type.

It needs pydantic, which ``pip install "elicit-flows[forms]"`` brings, and ``[mcp]`` too.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from pydantic import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import GenerateJsonSchema

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import InvalidAnswerError
from elicit_flows.sdk.outcomes import Answered, Completed

T = TypeVar("T")
GIVE = "Give a Pydantic model, a dataclass, a TypedDict or a JSON Schema"
ONE_ANSWER = (
    "A form has one answer for each question: a text, a number, a date, yes or no, or one or several of some options."
)
Choices = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TypedForm(Generic[T]):
    """A form whose answers are a ``type``. ``choices``: for each property with options that are no texts, such as
    ``Literal[1, 2]``, what each option stands for.
    """

    type: type[T]
    schema: Json
    choices: dict[str, Choices] = field(default_factory=dict)

    def answered(self, done: Completed) -> Answered[T]:
        """The outcome with the answers as the type. Raises InvalidAnswerError if its own validators refuse them."""
        content = {name: self._meant(name, value) for name, value in (done.result.get("content") or {}).items()}
        # What must be there and may be None is left out by a form when it is not answered.
        nullable = set(_described(self.type).get("required", ())) - set(self.schema.get("required", ()))
        missing = {name: None for name in self.schema["properties"] if name in nullable and name not in content}
        try:
            # As JSON, because there a date is a text and a set a list, also for strict types.
            data = _adapter(cast(Any, self.type)).validate_json(json.dumps({**content, **missing}))
        except ValidationError as refused:
            found = refused.errors(include_input=False, include_url=False, include_context=False)
            raise InvalidAnswerError(
                f"The answers are no {_name(self.type)}",
                [{"loc": list(one["loc"]), "message": one["msg"]} for one in found],
                done.elicitation,
            ) from None  # its text has the answers
        return Answered(done.elicitation, data)

    def _meant(self, name: str, value: Any) -> Any:
        known = self.choices.get(name)
        if known is None:
            return value
        return [known.get(one, one) for one in value] if isinstance(value, list) else known.get(value, value)


class _Untitled(GenerateJsonSchema):
    """Without the titles that pydantic makes of names: the page makes better labels."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@lru_cache(maxsize=256)
def form_of(given: Any) -> TypedForm[Any]:
    """The form that asks for a ``given``. Raises TypeError for a type that no form can ask for."""
    full = _described(given)
    if "properties" not in full:
        raise TypeError(f"{GIVE}, not {given!r}.")
    defs, choices, properties, required = full.get("$defs", {}), {}, {}, []
    for name, said in full["properties"].items():
        prop, nullable = _property(f"{_name(given)}.{name}", said, defs)
        properties[name] = prop
        if known := _worded(prop):
            choices[name] = known
        if name in full.get("required", ()) and not nullable:
            required.append(name)
    schema: Json = {"type": "object", "properties": properties, "required": required}
    if full.get("description"):
        schema["description"] = full["description"]
    return TypedForm(given, schema, choices)


@lru_cache(maxsize=256)
def _adapter(given: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(given)
    except (PydanticSchemaGenerationError, PydanticUserError) as refused:
        raise TypeError(f"{GIVE}, not {given!r}: {refused.message}") from refused


def _described(given: Any) -> Json:
    try:
        full = _adapter(given).json_schema(schema_generator=_Untitled)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as refused:
        raise TypeError(f"No form can ask for {_name(given)}: {refused.message}") from refused
    while "$ref" in full:  # a type that names itself
        full = {**full["$defs"][full["$ref"].rpartition("/")[2]], "$defs": full["$defs"]}
    return full


def _property(place: str, said: Json, defs: Json) -> tuple[Json, bool]:
    """One property in MCP's restricted JSON Schema, and whether None is an answer."""
    found, nullable = _resolved(place, said, defs)
    if "title" not in said:
        found.pop("title", None)  # the name of an Enum
    for name, bound, way in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        if name in found:
            least = found.pop(name)
            found[bound] = least + way if found["type"] == "integer" else math.nextafter(least, math.inf * way)
    if "const" in found:
        found["enum"] = [found.pop("const")]
    if "items" in found:
        of, _ = _resolved(place, found["items"], defs)
        options = of.get("enum", [of["const"]] if "const" in of else None)
        if options is None:
            raise TypeError(f"{place}: {ONE_ANSWER}")
        found["items"] = {"type": of["type"], "enum": options}
    if found.get("default", 0) is None:
        del found["default"]
    if examples := found.pop("examples", None):
        told = f"For example: {', '.join(map(str, examples))}"
        found["description"] = f"{found['description']} {told}" if "description" in found else told
    return found, nullable


def _resolved(place: str, said: Json, defs: Json) -> tuple[Json, bool]:
    """``said`` without references and without None. Raises TypeError for several types and for types within types."""
    if "$ref" in said:
        said = {**defs[said["$ref"].rpartition("/")[2]], **said}
    kinds = [one for one in said.get("anyOf", ()) if one != {"type": "null"}]
    nullable = len(kinds) != len(said.get("anyOf", ()))
    rest = {name: value for name, value in said.items() if name not in ("$ref", "anyOf")}
    if len(kinds) == 1:
        inner, deeper = _resolved(place, kinds[0], defs)
        return {**inner, **rest}, nullable or deeper
    if kinds or "type" not in rest or rest["type"] == "object":
        raise TypeError(f"{place}: {ONE_ANSWER}")
    return rest, nullable


def _worded(prop: Json) -> Choices:
    """Turn options that are no texts into texts, since a form has texts only, and return what each stands for."""
    of = prop.get("items", prop)
    if "enum" not in of or all(isinstance(one, str) for one in of["enum"]):
        return {}
    known = {str(one): one for one in of["enum"]}
    of |= {"type": "string", "enum": list(known)}
    if "default" in prop:
        given = prop["default"]
        prop["default"] = [str(one) for one in given] if isinstance(given, list) else str(given)
    return known


def _name(given: Any) -> str:
    return str(getattr(given, "__name__", given))
