"""Filters and tags of the pages. None of them marks its result as safe, so templates escape it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime

import segno
from babel import Locale
from django import template
from django.utils import timezone
from django.utils.translation import get_language, get_language_info, gettext, ngettext, pgettext

from elicit_flows import catalogue
from elicit_flows.domain.values import Json, ScopeWords
from elicit_flows.kinds.form import formats, page
from elicit_flows.lib import amounts, clock, locales, text
from elicit_flows.lib.locales import language_of
from elicit_flows.lib.sentences import Sentence, scope_words, spoken

register = template.Library()

# The same at every provider (OpenID Connect Core, sections 5.4 and 11).
STANDARD_SCOPES = {
    "openid": scope_words("See which account it is"),
    "profile": scope_words("See your name and what your profile says"),
    "email": scope_words("See your e-mail address"),
    "address": scope_words("See your postal address"),
    "phone": scope_words("See your phone number"),
    "offline_access": scope_words("Keep this access while you are away, until you end it"),
}


@register.filter
def visible(value: object) -> str:
    """The text without invisible characters; "" for None. For texts that agents, providers and people wrote; a sentence
    of ours comes out in the language of the page.
    """
    if isinstance(value, Sentence):
        value = spoken(value, gettext, ngettext)
    return "" if value is None else text.visible(str(value))


@register.filter
def in_words_of_ours(value: str) -> str:
    """A text that only we write, in the language of the page."""
    return text.visible(spoken(value, gettext, ngettext))


@register.filter
def catalogue_text(value: str | None) -> str:
    """A label or a help text of a provider's entry, in the language of the page where a catalogue has it."""
    return text.visible(pgettext("field", value)) if value else ""


@register.filter
def get(values: Mapping[str, object], name: str) -> object:
    """The value under a name that is itself in a variable, which templates cannot look up; None if there is none."""
    return values.get(name)


@register.simple_tag
def scope_groups(scopes: Sequence[str], words: ScopeWords | None, reasons: Mapping[str, str] | None = None) -> Json:
    """``{groups: [{name, said, unsaid}], described}``: the scopes by what they allow, what weighs most first.

    ``said``: in words, each once; ``unsaid``: the technical names of those that nobody has described. Both are
    ``[{text, why, language, direction}]``: ``why`` has the agent's ``reasons`` for it; ``language`` is None where the
    text is in that of the page, and "" where it is not known. ``described``: whether anything is said in words.
    """
    groups: dict[str, Json] = {name: {"name": name, "said": {}, "unsaid": {}} for name in catalogue.GROUPS}
    for scope in scopes:
        found = (words or {}).get(scope) or STANDARD_SCOPES.get(scope) or ""
        english = found if isinstance(found, str) else found.get("en") or found.get("", "")
        group, said = groups[catalogue.group_of(english)], _said(found)
        key = "said" if said["text"] else "unsaid"
        one = group[key].setdefault(said["text"] or scope, {**said, "text": said["text"] or scope, "why": []})
        one["why"] += [reasons[scope]] if reasons and scope in reasons else []
    shown = [
        {**group, "said": list(group["said"].values()), "unsaid": list(group["unsaid"].values())}
        for group in groups.values()
        if group["said"] or group["unsaid"]
    ]
    return {"groups": shown, "described": any(group["said"] for group in shown)}


def _said(words: str | Mapping[str, str]) -> Json:
    """``{text, language, direction}``: what a scope allows, in the language of the page if there is such a text."""
    page = get_language() or "en"
    if isinstance(words, str):  # English, of the catalogue
        here = pgettext("scope", words) if words else ""
        language = "en" if words and here == words and not page.startswith("en") else None
        return {"text": here, "language": language, "direction": "ltr"}
    language = language_of(words)
    if not language:  # the operator has not said which one it is
        return {"text": words.get("", ""), "language": "", "direction": "auto"}
    direction = "rtl" if get_language_info(language)["bidi"] else "ltr"
    return {"text": words[language], "language": None if language == page else language, "direction": direction}


@register.filter
def safe_url(value: object) -> str:
    """An address that is safe in href: http, https or a path of this service; else ""."""
    return "" if value is None else text.safe_url(str(value))


@register.filter
def return_address(value: object) -> str:
    """The same, or the address of a native app."""
    url = "" if value is None else str(value)
    return url if text.is_app_address(url) else text.safe_url(url)


@register.simple_tag
def qr_code(url: str) -> Json:
    """``{size, path}``: an address, and nothing else, as the path of an SVG of ``size`` units, with a margin of 4."""
    rows = list(segno.make(url, error="m", micro=False, boost_error=False).matrix_iter(border=4)) if url else []
    dark = ((x, y) for y, row in enumerate(rows) for x, module in enumerate(row) if module)
    return {"size": len(rows), "path": "".join(f"M{x} {y}h1v1h-1z" for x, y in dark)}


@register.filter
def ascii_host(value: object) -> str:
    """The host of an address in ASCII; "" when there is none."""
    return "" if value is None else text.ascii_host(str(value))


def _locale() -> Locale:
    return locales.current(get_language() or "en")


@register.simple_tag
def space() -> str:
    """What stands between two sentences: nothing in Chinese and Japanese, whose full stop is full-width."""
    return "" if get_language() in {"ja", "zh-hans"} else " "


@register.simple_tag
def money(amount: int, currency: str) -> str:
    """An amount in minor units, as it is written in the reader's own locale: ``{% money 1999 "eur" %}``."""
    return amounts.show(amount, currency, _locale())


@register.simple_tag
def token_amount(amount: int, decimals: int, symbol: str) -> str:
    """An amount in a token's smallest unit: ``{% token_amount 10000 6 "USDC" %}`` is 0.01 USDC."""
    return amounts.token(amount, decimals, text.visible(symbol), _locale())


@register.filter
def day(at: date) -> str:
    """The date in the reader's locale and time zone."""
    return locales.day(at, timezone.get_current_timezone(), _locale())


@register.filter
def clock_time(at: datetime) -> str:
    """The time of day in the reader's locale and time zone."""
    return locales.clock_time(at, timezone.get_current_timezone(), _locale())


@register.simple_tag
def clock_times(first: datetime, last: datetime) -> str:
    """The times of day from the first to the last, in the reader's locale and time zone."""
    return locales.clock_times(first, last, timezone.get_current_timezone(), _locale())


@register.filter
def moment(at: datetime) -> str:
    """Date and time in the reader's locale and time zone."""
    return locales.moment(at, timezone.get_current_timezone(), _locale())


@register.filter
def relative(at: datetime) -> str:
    """``2 hours ago``, ``in 14 minutes``."""
    return locales.relative(at, clock.now(), _locale())


@register.filter
def as_count(bound: str | None) -> int:
    """A bound of a question as a number, to choose the plural by."""
    return int(float(bound or 0))


@register.filter
def paragraphs(value: object) -> list[str]:
    """The parts of a text between blank lines. Single line breaks come from wrapped source lines and mean nothing."""
    return [part for part in re.split(r"\n\s*\n", str(value or "").strip()) if part]


@register.filter
def duration(seconds: float | None) -> str:
    """42 s, 3 min, 1 h 5 min."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return gettext("%(count)d s") % {"count": round(seconds)}
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [gettext("%(count)d h") % {"count": hours}] if hours else []
    parts += [gettext("%(count)d min") % {"count": minutes}] if minutes else []
    return " ".join(parts)


@register.filter
def zone_places(zone: str) -> str:
    """Places with this difference from UTC, in the language of the page; "" if hardly anybody lives there."""
    places = formats.ZONE_PLACES.get(zone, "")
    return gettext(places) if places else ""


@register.simple_tag
def as_sent(fields: list[Json], typed: Mapping[str, Sequence[str]], faults: Mapping[str, str]) -> list[Json]:
    """The fields of a form with what the person typed, each with what is wrong with it."""
    return page.refill(fields, typed, faults)
