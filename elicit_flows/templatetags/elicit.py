"""Filters and tags for the pages. None marks its answer safe: the template escapes it like anything else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django import template
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as noop

from elicit_flows.lib import money as amounts
from elicit_flows.lib import text

register = template.Library()

# Scopes that mean the same at every provider (OpenID Connect Core, sections 5.4 and 11).
_EVERYWHERE = {
    "openid": noop("See which account it is"),
    "profile": noop("See your name and what your profile says"),
    "email": noop("See your e-mail address"),
    "address": noop("See your postal address"),
    "phone": noop("See your phone number"),
    "offline_access": noop("Keep this access while you are away, until you end it"),
}


@register.filter
def visible(value: object) -> str:
    """Text of somebody else's, without what cannot be seen; "" for None."""
    return "" if value is None else text.visible(str(value))


@register.filter
def get(values: Mapping[str, object], name: str) -> object:
    """What a mapping has under a name that stands in a variable; None when it has nothing there."""
    return values.get(name)


@register.filter
def in_words(scope: str, words: Mapping[str, str] | None) -> str:
    """What a scope lets an agent do: as the provider's ``words`` have it, or the standard; "" where nobody says."""
    said = (words or {}).get(scope)
    if said or scope not in _EVERYWHERE:
        return said or ""
    return gettext(_EVERYWHERE[scope])


@register.filter
def safe_url(value: object) -> str:
    """An address that may stand in href: http, https or a path of ours; else ""."""
    return "" if value is None else text.safe_url(str(value))


@register.filter
def ascii_host(value: object) -> str:
    """The host of an address in ASCII; "" when there is none."""
    return "" if value is None else text.ascii_host(str(value))


@register.simple_tag(takes_context=True)
def money(context: template.Context, amount: int, currency: str) -> str:
    """Minor units as the reader writes them, whatever language the page is in: ``{% money 1999 "eur" %}``."""
    return amounts.show(amount, currency, context.get("reader_locale") or get_language() or "en")


@register.filter
def paragraphs(value: object) -> list[str]:
    """The parts of a text that blank lines divide; single line breaks in them are only where the source was wrapped."""
    return [part for part in re.split(r"\n\s*\n", str(value or "").strip()) if part]
