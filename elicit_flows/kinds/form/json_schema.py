"""Forms given as JSON Schema, as MCP (2025-11-25, 2026-07-28) and ACP restrict it: one flat object."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import options, texts
from elicit_flows.kinds.form.fields import Field, Questions, Sort, named
from elicit_flows.kinds.form.limits import MAX_FIELDS, MAX_HELP, MAX_KEY, MAX_LABEL
from elicit_flows.kinds.form.object_reader import Faults, Path, Reader
from elicit_flows.kinds.params import is_line

_TOP = ("type", "properties", "required", "title", "description", "$schema", "additionalProperties")
_ALL = ("type", "title", "description", "default")
_MEMBERS = {
    "string": (*_ALL, "minLength", "maxLength", "pattern", "format", "enum", "enumNames", "oneOf"),
    "number": (*_ALL, "minimum", "maximum"),
    "integer": (*_ALL, "minimum", "maximum"),
    "boolean": _ALL,
    "array": (*_ALL, "items", "minItems", "maxItems", "uniqueItems"),
}
_SORTS = {"string": Sort.TEXT, "number": Sort.NUMBER, "integer": Sort.INTEGER, "boolean": Sort.BOOLEAN}


def read(given: Any, order: Any, faults: Faults) -> tuple[Json, list[str], Questions]:
    """``{schema, order}`` as they are stored, and the questions.

    ``order`` is the order of the properties on the page, because a database may not keep an object's order.
    """
    reader = Reader(given, ["schema"], faults)
    kept = reader.only(_TOP)
    if kept.setdefault("type", "object") != "object":
        reader.fault("type", 'Give "object": a form is an object.')
    properties = _properties(reader, kept)
    keys, names = list(properties), isinstance(order, list) and all(isinstance(key, str) for key in order)
    if names and sorted(order) == sorted(keys):
        keys = list(order)
    elif order is not None:
        faults.add(["order"], "Name each property once, or leave it out.")
    required = _required(reader, kept, properties)
    kept["properties"], fields = {}, []
    for key in keys:
        kept["properties"][key], field = _property(key, properties[key], key in required, faults)
        fields.append(field)
    questions = Questions(named(fields), reader.text("title", MAX_LABEL), reader.text("description", MAX_HELP))
    return kept, keys, questions


def _properties(reader: Reader, kept: Json) -> Json:
    found = kept.get("properties", {})
    if not isinstance(found, dict) or len(found) > MAX_FIELDS:
        reader.fault("properties", f"Give an object with at most {MAX_FIELDS} properties.")
        return {}
    for key in found:
        if not is_line(key, MAX_KEY):
            reader.fault(["properties", key], f"Give a name of 1 to {MAX_KEY} visible characters on one line.")
    if not isinstance(kept.get("additionalProperties", False), bool):
        reader.fault("additionalProperties", "Give true or false, or leave it out.")
    if not isinstance(kept.get("$schema", ""), str):
        reader.fault("$schema", "Give the URI of a JSON Schema version, or leave it out.")
    return {key: value for key, value in found.items() if is_line(key, MAX_KEY)}


def _required(reader: Reader, kept: Json, properties: Json) -> set[str]:
    names = kept.get("required", [])
    if not isinstance(names, list):
        reader.fault("required", "Give a list of names.")
        return set()
    for place, name in enumerate(names):
        if not isinstance(name, str) or name not in properties:
            reader.fault(["required", place], "There is no such property.")
    return {name for name in names if isinstance(name, str)}


def _property(key: str, given: Any, required: bool, faults: Faults) -> tuple[Json, Field]:
    path: Path = ["schema", "properties", key]
    reader = Reader(given, path, faults)
    sort = reader.given.get("type")
    title = reader.text("title", MAX_LABEL)
    common: Json = {"key": key, "label": title or spoken(key), "help": reader.text("description", MAX_HELP)}
    if not isinstance(sort, str) or sort not in _MEMBERS:
        reader.fault("type", f"Use one of {', '.join(_MEMBERS)}.")
        return {}, Field(sort=Sort.TEXT, **common)
    kept = reader.only(_MEMBERS[sort])
    if sort == "array":
        field, kept = options.many(reader, kept, common, required)
    elif sort == "string" and ("enum" in kept or "oneOf" in kept):
        field, kept = options.single(reader, kept, common, required)
    else:
        field = _simple(reader, sort, common, required)
    return kept, texts.with_default(reader, "default", field)


def _simple(reader: Reader, sort: str, common: Json, required: bool) -> Field:
    if sort == "string":
        if "enumNames" in reader.given and reader.given["enumNames"] is not None:
            reader.fault("enumNames", "Leave it out, or give the enum that it names.")
        return texts.text(reader, ("minLength", "maxLength"), common, required)
    low = high = None
    if sort != "boolean":
        low, high = reader.number("minimum"), reader.number("maximum")
        reader.in_order("minimum", low, "maximum", high)
    return Field(sort=_SORTS[sort], required=required, low=low, high=high, **common)


def spoken(key: str) -> str:
    """A property's name as a label, for a property without a title: ``file_name`` becomes "File name"."""
    words = " ".join(key.replace("_", " ").split()) or key
    return words[:1].upper() + words[1:]
