"""Tags for pages with questions. They give data; the template escapes it."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.http import QueryDict

from elicit_flows.kinds.form import page
from elicit_flows.values import Json

register = template.Library()


@register.simple_tag
def as_sent(fields: list[Json], typed: QueryDict | Mapping[str, str], faults: Mapping[str, str]) -> list[Json]:
    """The fields of a form as somebody filled them in, each with what is wrong with it."""
    sent = dict(typed.lists()) if isinstance(typed, QueryDict) else {name: [value] for name, value in typed.items()}
    return page.refill(fields, sent, faults)
