"""What schemas and lists of questions have in common: texts with their bounds, and defaults."""

from __future__ import annotations

from dataclasses import replace

from elicit_flows.domain.values import Json
from elicit_flows.kinds.form import formats
from elicit_flows.kinds.form.fields import Field, Sort
from elicit_flows.kinds.form.limits import MAX_NUMBER
from elicit_flows.kinds.form.object_reader import Reader
from elicit_flows.kinds.form.validation import check_one, compiled, longest
from elicit_flows.lib.pattern import MAX_PATTERN, PatternError


def text(reader: Reader, bounds: tuple[str, str], common: Json, required: bool) -> Field:
    """A text field with the format, pattern and bounds that are given. ``bounds``: the names of the two bounds."""
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
    needs, has = formats.LENGTHS.get(field.format, (0, longest(field)))
    if high is not None and high < needs:
        reader.fault(bounds[1], f"Allow {needs} characters, or leave it out: a {field.format} may need as many.")
    elif low is not None and low > has and (high is None or low <= high):
        reader.fault(bounds[0], f"An answer here may have no more than {has} characters.")
    return field


def _format(reader: Reader) -> str:
    value = reader.given.get("format")
    if value is None or (isinstance(value, str) and value in formats.FORMATS):
        return value or ""
    if value == "password":
        reader.fault("format", "Use kind credentials for a password: the answers of a form are shown to you.")
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
    """The field with its default. A default that would not be a valid answer is a fault."""
    value = reader.given.get(name)
    if value is None:
        return field
    if field.sort == Sort.INTEGER and isinstance(value, float) and value.is_integer():
        value = int(value)
    said = check_one(replace(field, freeform=False), value)
    if said:
        reader.fault(name, f"This would not be a valid answer. {said}")
        return field
    return replace(field, default=tuple(value) if isinstance(value, list) else value)
