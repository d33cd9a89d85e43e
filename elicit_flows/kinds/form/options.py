"""Choices from a list, which JSON Schema forms can express in five ways."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form.fields import Field, Option, Sort
from elicit_flows.kinds.form.limits import MAX_HELP, MAX_LABEL, MAX_OPTIONS, MAX_VALUE
from elicit_flows.kinds.form.object_reader import Reader
from elicit_flows.kinds.params import is_text

_NOT_WITH_OPTIONS = ("minLength", "maxLength", "pattern", "format")


def single(reader: Reader, kept: Json, common: Json, required: bool) -> tuple[Field, Json]:
    """The field for ``enum``, ``enum`` with ``enumNames``, or ``oneOf``, and the property as it is stored."""
    for name in _NOT_WITH_OPTIONS:
        if name in kept:
            reader.fault(name, "Leave it out: the options decide what can be answered.")
    if "enum" in kept and "oneOf" in kept:
        reader.fault("oneOf", "Use either enum or oneOf.")
    if "oneOf" in kept:
        offered, kept["oneOf"] = _titled(reader, "oneOf")
    else:
        offered = _plain(reader)
    return Field(sort=Sort.SINGLE, required=required, options=offered, **common), kept


def many(reader: Reader, kept: Json, common: Json, required: bool) -> tuple[Field, Json]:
    """The field for ``items`` with ``enum`` or ``anyOf``, and the property as it is stored.

    A required list may be empty unless ``minItems`` says otherwise.
    """
    items = Reader(reader.given.get("items"), [*reader.path, "items"], reader.faults)
    kept["items"] = items.only(("type", "enum", "anyOf"))
    offered: tuple[Option, ...] = ()
    if items.given and ("enum" in kept["items"]) == ("anyOf" in kept["items"]):
        items.fault("enum", "Give either enum or anyOf.")
    elif "anyOf" in kept["items"]:
        offered, kept["items"]["anyOf"] = _titled(items, "anyOf")
    elif items.given:
        offered = _plain(items)
    if items.given and kept["items"].get("type", "string" if "anyOf" in kept["items"] else None) != "string":
        items.fault("type", 'Say "string".')
    reader.flag("uniqueItems")
    low, high = (reader.count(name, MAX_OPTIONS) for name in ("minItems", "maxItems"))
    reader.in_order("minItems", low, "maxItems", high)
    if offered and low is not None and low > len(offered):
        reader.fault("minItems", "This is more than there are options.")
    empty = required and not low
    field = Field(
        sort=Sort.MANY, required=required and not empty, low=low, high=high, options=offered,
        vacant=() if empty else None, **common,
    )  # fmt: skip
    return field, kept


def _plain(reader: Reader) -> tuple[Option, ...]:
    values = reader.lines("enum", MAX_OPTIONS)
    names = reader.given.get("enumNames")
    if names is None:
        return tuple(Option(value, value) for value in values)
    if not isinstance(names, list) or (values and len(names) != len(values)):
        reader.fault("enumNames", "Give one name for each value of enum.")
        return ()
    return tuple(Option(value, _name(reader, ["enumNames", place], names[place])) for place, value in enumerate(values))


def _name(reader: Reader, path: list[str | int], value: Any) -> str:
    if is_text(value, MAX_LABEL):
        return str(value)
    reader.fault(path, f"Give 1 to {MAX_LABEL} characters.")
    return ""


def _titled(reader: Reader, name: str) -> tuple[tuple[Option, ...], list[Json]]:
    found: list[Option] = []
    kept: list[Json] = []
    for place, given in enumerate(reader.entries(name, MAX_OPTIONS)):
        one = Reader(given, [*reader.path, name, place], reader.faults)
        kept.append(one.only(("const", "title", "description")))
        if not one.given:
            continue
        value, title = one.line("const", MAX_VALUE), one.text("title", MAX_LABEL)
        if one.given.get("title") is None:
            one.fault("title", "Give the text that a person reads.")
        option = Option(value, title, one.text("description", MAX_HELP))
        if option.value and option.value in {other.value for other in found}:
            one.fault("const", "Leave it out: the list has this value already.")
        found.append(option)
    return tuple(found), kept
