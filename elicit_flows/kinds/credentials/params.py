"""What an agent may ask of kind credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.kinds.credentials import sealing
from elicit_flows.kinds.params import Fault, fault, is_line, is_text, unknown
from elicit_flows.values import Json

MAX_FIELDS = 20
MAX_LABEL = 100
MAX_HELP = 500
_FIELD = ("name", "label", "secret", "help")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def clean(params: Json) -> Json:
    """``{fields: [{name, label, secret, help}], seal_to}``; a field is secret unless it says false. Raises Invalid."""
    faults = unknown(params, ("fields", "seal_to"))
    fields, seal_to = params.get("fields"), params.get("seal_to")
    unfit = sealing.problem(seal_to) if seal_to is not None else ""
    if unfit:
        faults.append(fault("seal_to", unfit))
    if not isinstance(fields, list) or not 1 <= len(fields) <= MAX_FIELDS:
        raise Invalid([*faults, fault("fields", f"Give a list of 1 to {MAX_FIELDS} fields.")])
    for place, field in enumerate(fields):
        faults += _faults(place, field)
    faults += _repeated(fields)
    if faults:
        raise Invalid(faults)
    return {"fields": [{"secret": True, "help": None} | field for field in fields], "seal_to": seal_to}


def _faults(place: int, field: Any) -> Iterator[Fault]:
    at = ["fields", place]
    if not isinstance(field, dict):
        yield fault(at, "A field is an object with a name and a label.")
        return
    for name in field:
        if name not in _FIELD:
            yield fault([*at, name], f"There is no such key; use {', '.join(_FIELD)}.")
    name = field.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield fault([*at, "name"], "Name it in 1 to 40 of a-z, 0-9 and _, beginning with a letter.")
    if not is_line(field.get("label"), MAX_LABEL):
        yield fault([*at, "label"], f"Label it in 1 to {MAX_LABEL} visible characters on one line.")
    if not isinstance(field.get("secret", True), bool):
        yield fault([*at, "secret"], "Say true or false.")
    if field.get("help") is not None and not is_text(field["help"], MAX_HELP):
        yield fault([*at, "help"], f"Help in at most {MAX_HELP} characters, or leave it out.")


def _repeated(fields: list[Any]) -> Iterator[Fault]:
    seen: set[object] = set()
    for place, field in enumerate(fields):
        name = field.get("name") if isinstance(field, dict) else None
        if isinstance(name, str) and name in seen:
            yield fault(["fields", place, "name"], "Another field has this name.")
        seen.add(name if isinstance(name, str) else place)
