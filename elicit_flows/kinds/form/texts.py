"""What both dialects say alike: texts with their bounds, and defaults."""

from __future__ import annotations

from dataclasses import replace

from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.checking import check_one, compiled, longest
from elicit_flows.kinds.form.fields import Field, Sort
from elicit_flows.kinds.form.limits import MAX_NUMBER
from elicit_flows.kinds.form.reading import Reader
from elicit_flows.lib.pattern import MAX_PATTERN, PatternError
from elicit_flows.values import Json


def text(reader: Reader, bounds: tuple[str, str], common: Json, required: bool) -> Field:
    """A text with a format, a pattern and bounds under these two names, as far as they are given."""
    low, high = (reader.count(name, MAX_NUMBER) for name in bounds)
    reader.in_order(bounds[0], low, bounds[1], high)
    field = Field(
        sort=Sort.TEXT,
        required=required,
        low=low,
        high=high,
        format=_format(reader),
        pattern=_pattern(reader),
        **common,
    )
    if low is not None and low > longest(field) and (high is None or low <= high):
        reader.fault(bounds[0], f"An answer here has at most {longest(field)} characters.")
    return field


def _format(reader: Reader) -> str:
    value = reader.given.get("format")
    if value is None or (isinstance(value, str) and value in formats.FORMATS):
        return value or ""
    if value == "password":
        reader.fault("format", "A form shows its answers to you. Use kind credentials for a password.")
    else:
        reader.fault("format", f"Use one of {', '.join(formats.FORMATS)}, or leave it out.")
    return ""


def _pattern(reader: Reader) -> str:
    value = reader.given.get("pattern")
    if value is None:
        return ""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATTERN:
        reader.fault("pattern", f"Give 1 to {MAX_PATTERN} characters, or leave it out.")
        return ""
    try:
        compiled(value)
    except PatternError as error:
        reader.fault("pattern", str(error))
        return ""
    return value


def with_default(reader: Reader, name: str, field: Field) -> Field:
    """With what its page is filled with at first. A default that is no answer is a fault."""
    value = reader.given.get(name)
    if value is None:
        return field
    if field.sort == Sort.INTEGER and isinstance(value, float) and value.is_integer():
        value = int(value)
    said = check_one(replace(field, freeform=False), value)
    if said:
        reader.fault(name, f"This would be no answer to it. {said}")
        return field
    return replace(field, default=tuple(value) if isinstance(value, list) else value)
