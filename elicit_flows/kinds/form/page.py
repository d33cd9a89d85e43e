"""What the page needs to know about a question. Plain data; none of it is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import NUMERIC, Field, Sort
from elicit_flows.kinds.form.limits import LONG
from elicit_flows.kinds.form.submission import NO, OWN, OWN_TEXT, WHY, YES, ZONE, to_type
from elicit_flows.kinds.form.validation import example_of, longest
from elicit_flows.lib import text

RADIOS = 7  # more options are shown as a menu, unless they have descriptions, which a menu cannot show

_TYPES = {"email": "email", "uri": "url", "date": "date", "date-time": "datetime-local"}
_AUTOCOMPLETE = {"your name": "name", "full name": "name", "fullname": "name", "full_name": "name"}


def describe(field: Field) -> Json:
    """``{id, key, control, label, help, required, low, high, …}``.

    ``control`` is line, area, moment, yesno, radios, menu or ticks. ``low`` and ``high`` are the bounds as text, None
    if there are none to show. ``value`` and each option's ``chosen`` are the default.
    """
    return {
        "id": field.name,
        "key": field.key,
        "sort": str(field.sort),
        "label": field.label,
        "help": field.help,
        "required": field.required,
        "control": _control(field),
        "low": _bound(field.low if field.sort in NUMERIC else field.low or None),
        "high": _bound(longest(field) if field.sort == Sort.TEXT and field.high is not None else field.high),
        **_typed(field),
        **_choices(field),
    }


def _bound(number: float | None) -> str | None:
    return None if number is None else to_type(number)


def _control(field: Field) -> str:
    if field.sort == Sort.SINGLE:
        told = any(option.description for option in field.options)
        return "radios" if told or len(field.options) <= RADIOS else "menu"
    if field.sort == Sort.TEXT:
        long = field.high is not None and field.high > LONG and not field.format
        lines = isinstance(field.default, str) and "\n" in field.default
        return "moment" if field.format == "date-time" else "area" if long or lines else "line"
    return {Sort.MANY: "ticks", Sort.BOOLEAN: "yesno"}.get(field.sort, "line")


def _typed(field: Field) -> Json:
    """The members for questions that are answered by typing.

    Numbers use text controls: a number control drops what it does not understand, and the person's input would be lost.
    ``most`` is twice the bound, because browsers count a character beyond the Basic Multilingual Plane as two.
    """
    local, zone = formats.split(field.default) if field.format == "date-time" and field.default else ("", "+00:00")
    written = field.sort == Sort.TEXT
    default = local if field.format == "date-time" else field.default
    counted = written and not field.format.startswith("date")
    # The keyboard of a phone. Numeric keyboards have no minus, so they are used only for numbers from 0.
    counts = field.sort in NUMERIC and field.low is not None and field.low >= 0
    return {
        "type": _TYPES.get(field.format, "text"),
        "inputmode": ("numeric" if field.sort == Sort.INTEGER else "decimal") if counts else "",
        "autocomplete": "email" if field.format == "email" else _AUTOCOMPLETE.get(field.label.casefold(), "off"),
        "least": int(field.low) if written and field.low else None,
        "most": 2 * longest(field) if counted and field.high is not None else None,
        "pattern": field.pattern,
        "example": example_of(field),
        "value": _shown(default),
        "zone_name": field.name + ZONE,
        "zone": zone,
        "zones": sorted({*formats.ZONES, zone}, key=_hours) if field.format == "date-time" else [],
    }


def _hours(zone: str) -> float:
    return float(zone[0] + "1") * (int(zone[1:3]) + int(zone[4:]) / 60)


def _shown(default: Any) -> str:
    """A default as its control shows it first, without invisible characters from the agent."""
    if default is None or isinstance(default, tuple):
        return ""
    if isinstance(default, bool):
        return YES if default else NO
    return text.visible(default) if isinstance(default, str) else to_type(default)


def _choices(field: Field) -> Json:
    default = field.default if isinstance(field.default, tuple) else (field.default,)
    return {
        "options": [
            {
                "value": option.value,
                "label": option.label,
                "description": option.description,
                "recommended": option.recommended,
                "chosen": option.value in default,
            }
            for option in field.options
        ],
        "freeform": field.freeform,
        "own": OWN,
        "own_name": field.name + OWN_TEXT,
        "own_text": "",
        "why_name": field.name + WHY if field.skippable else "",
        "why": "",
        "yes": YES,
        "no": NO,
    }


def refill(fields: list[Json], sent: Mapping[str, Sequence[str]], faults: Mapping[str, str]) -> list[Json]:
    """The fields, each with its ``fault`` or "". What ``sent`` contains replaces the default."""
    return [
        field | (_sent(field, sent) if field["id"] in sent else {}) | {"fault": faults.get(field["id"], "")}
        for field in fields
    ]


def _sent(field: Json, sent: Mapping[str, Sequence[str]]) -> Json:
    values = sent.get(field["id"], ())
    return {
        "value": values[-1] if values else "",
        "own_text": next(iter(sent.get(field["own_name"], ())), ""),
        "why": next(iter(sent.get(field["why_name"], ())), ""),
        "zone": next(iter(sent.get(field["zone_name"], ())), field["zone"]),
        "options": [option | {"chosen": option["value"] in values} for option in field["options"]],
    }
