"""Forms given as AHP questions: a list of questions of six kinds (ChatInputQuestion)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import texts
from elicit_flows.kinds.form.fields import Field, Option, Questions, Sort, named
from elicit_flows.kinds.form.limits import MAX_FIELDS, MAX_HELP, MAX_KEY, MAX_LABEL, MAX_OPTIONS, MAX_VALUE
from elicit_flows.kinds.form.object_reader import Faults, Reader

_ALL = ("id", "kind", "title", "message", "required")
_MEMBERS = {
    "text": (*_ALL, "format", "min", "max", "defaultValue"),
    "number": (*_ALL, "min", "max", "defaultValue"),
    "integer": (*_ALL, "min", "max", "defaultValue"),
    "boolean": (*_ALL, "defaultValue"),
    "single-select": (*_ALL, "options", "allowFreeformInput"),
    "multi-select": (*_ALL, "options", "allowFreeformInput", "min", "max"),
}
_SORTS = {"number": Sort.NUMBER, "integer": Sort.INTEGER, "boolean": Sort.BOOLEAN}


def read(given: Any, faults: Faults) -> tuple[list[Json], Questions]:
    """The questions as they are stored, and as the page needs them."""
    if not isinstance(given, list) or len(given) > MAX_FIELDS:
        faults.add(["questions"], f"Give a list with at most {MAX_FIELDS} questions.")
        return [], Questions(())
    kept: list[Json] = []
    fields: list[Field] = []
    for place, one in enumerate(given):
        reader = Reader(one, ["questions", place], faults)
        members, field = _question(reader)
        if field.key and field.key in {other.key for other in fields}:
            reader.fault("id", "Another question has this id.")
        kept.append(members)
        fields.append(field)
    return kept, Questions(named([replace(field, skippable=not field.required) for field in fields]))


def _question(reader: Reader) -> tuple[Json, Field]:
    kind = reader.given.get("kind")
    if not isinstance(kind, str) or kind not in _MEMBERS:
        if reader.given:
            reader.fault("kind", f"Use one of {', '.join(_MEMBERS)}.")
        return {}, Field("", Sort.TEXT, "")
    kept = reader.only(_MEMBERS[kind])
    title, message = reader.text("title", MAX_LABEL), reader.text("message", MAX_HELP)
    if reader.given.get("message") is None:
        reader.fault("message", "Give the text of the question.")
    common: Json = {
        "key": reader.line("id", MAX_KEY), "label": title or message, "help": message if title else "",
    }  # fmt: skip
    required = reader.flag("required")
    if kind in ("single-select", "multi-select"):
        return _select(reader, kept, common, required)
    if kind == "text":
        field = texts.text(reader, ("min", "max"), common, required)
    else:
        low = high = None
        if kind != "boolean":
            low, high = reader.number("min"), reader.number("max")
            reader.in_order("min", low, "max", high)
        field = Field(sort=_SORTS[kind], required=required, low=low, high=high, **common)
    return kept, texts.with_default(reader, "defaultValue", field)


def _select(reader: Reader, kept: Json, common: Json, required: bool) -> tuple[Json, Field]:
    offered, kept["options"] = _options(reader)
    freeform = reader.flag("allowFreeformInput")
    field = Field(sort=Sort.SINGLE, required=required, options=offered, freeform=freeform, **common)
    if kept["kind"] == "single-select":
        return kept, field
    low, high = (reader.count(name, MAX_OPTIONS) for name in ("min", "max"))
    reader.in_order("min", low, "max", high)
    if offered and low is not None and low > len(offered) + freeform:
        reader.fault("min", "This is more than there are options.")
    if required and high == 0:
        reader.fault("max", "Give at least 1: the question is required.")
    low = max(low or 0, 1) if required else low
    return kept, replace(field, sort=Sort.MANY, low=low, high=high)


def _options(reader: Reader) -> tuple[tuple[Option, ...], list[Json]]:
    found: list[Option] = []
    kept: list[Json] = []
    for place, given in enumerate(reader.entries("options", MAX_OPTIONS)):
        one = Reader(given, [*reader.path, "options", place], reader.faults)
        kept.append(one.only(("id", "label", "description", "recommended")))
        if not one.given:
            continue
        value, label = one.line("id", MAX_VALUE), one.text("label", MAX_LABEL)
        if one.given.get("label") is None:
            one.fault("label", "Give the text that a person reads.")
        if value and value in {other.value for other in found}:
            one.fault("id", "Another option has this id.")
        found.append(Option(value, label, one.text("description", MAX_HELP), one.flag("recommended")))
    return tuple(found), kept
