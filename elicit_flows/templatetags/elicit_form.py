"""Tags for pages with questions. They give data; the template escapes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django import template

from elicit_flows.kinds.form import page
from elicit_flows.values import Json

register = template.Library()


@register.simple_tag
def as_sent(fields: list[Json], typed: Mapping[str, Sequence[str]], faults: Mapping[str, str]) -> list[Json]:
    """The fields of a form as somebody filled them in, each with what is wrong with it."""
    return page.refill(fields, typed, faults)
