"""Dates, times and spans of time as readers of a locale write them (Unicode CLDR, by Babel)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_time, format_timedelta, get_datetime_format
from babel.numbers import get_decimal_symbol, get_group_symbol
from django.conf import settings
from django.utils.translation import get_language, get_supported_language_variant

# A language, with or without a script and a region (BCP 47, section 2.1). Whatever else a tag says is not needed here.
_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?(?:[-_][A-Za-z0-9]{1,8})*")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{1,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")
_BEFORE_YEAR = re.compile(r"\u00a0(?=(?:de\u00a0)?[0-9]{4}$)")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_JOINT = re.compile(r"(?<=[年月])(?=[0-9])|(?<=[0-9])(?=[年月日])")  # of a date
# The signs of numbers on keyboards for Arabic, Chinese and Japanese, and a typographer's minus.
_SIGNS = str.maketrans("\u066b\uff0b\uff0c\uff0d\uff0e\u2212", ".+,-.-")
_reader: ContextVar[Locale | None] = ContextVar("reader_locale", default=None)


@lru_cache(maxsize=512)
def parse(tag: str) -> Locale | None:
    """The locale of a language tag (BCP 47, or with ``_``); None if it is none, or not known. ``tag`` may be anything:
    it is compared with a pattern before a file is looked for.
    """
    found = _TAG.fullmatch(tag)
    if found is None:
        return None
    language, script, region = found.groups()
    # Without habits of its own a region has those of its language.
    for parts in ((language, script, region), (language, script), (language,)):
        try:
            return Locale.parse("-".join(part for part in parts if part), sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return None


def language_of(texts: Mapping[str, str]) -> str:
    """Which of an operator's texts by language a page shows: its own, else the service's, else the first; "" if none
    has words.
    """
    wanted = (get_language() or "", settings.ELICIT_LANGUAGE)
    return next((one for one in (*wanted, *texts) if texts.get(one)), "")


def of(language: str, wanted: Iterable[str] = ()) -> Locale:
    """The locale of a page in ``language``: with the region of the first tag in ``wanted`` of that language."""
    page = parse(language) or Locale("en")
    for tag in wanted:
        locale = parse(tag)
        if locale and locale.language == page.language and (page.script or locale.script) == locale.script:
            return locale
    return page


def supported(tag: str) -> str:
    """The language of ours that serves a reader of ``tag``, which may be anything; "" if none does."""
    try:
        return get_supported_language_variant(tag.lower()) if tag and tag != "*" else ""
    except LookupError:
        return ""


def tag(language: str) -> str:
    """The language as others spell it (BCP 47): ``pt-BR``, ``zh-Hans``."""
    return str(of(language)).replace("_", "-")


def decimal_mark() -> str:
    """What the reader writes before decimals: ``,`` in German. A phone's keyboard for numbers may have only that."""
    return str(get_decimal_symbol(_reader.get() or Locale("en")))


def in_ascii(number: str) -> str:
    """What was typed as a number, with the digits and signs of ASCII: ``12.5`` for ``١٢٫٥`` and ``１２．５``."""
    return "".join(str(unicodedata.decimal(one, one)) for one in number.translate(_SIGNS))


def may_be_grouped(number: str) -> bool:
    """Whether the reader would take the points in it for those between thousands: ``1.000`` in German."""
    return bool(_GROUPED.fullmatch(number)) and get_group_symbol(_reader.get() or Locale("en")) == "."


@contextmanager
def reading(locale: Locale) -> Iterator[None]:
    """For what is rendered within: its reader's locale."""
    token = _reader.set(locale)
    try:
        yield
    finally:
        _reader.reset(token)


def current(language: str) -> Locale:
    """The reader's locale, for a page in ``language``."""
    locale, page = _reader.get(), parse(language) or Locale("en")
    return locale if locale and locale.language == page.language else page


def zone(name: str) -> tzinfo | None:
    """The time zone of that IANA name; None if there is none. ``name`` may be anything."""
    if not _ZONE.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def day(at: date, zone: tzinfo, locale: Locale) -> str:
    """``November 22, 2026``. Its year alone may begin a line: in large letters a phone has no room for the whole."""
    local = at.astimezone(zone) if isinstance(at, datetime) else at
    return _BEFORE_YEAR.sub(" ", _whole(format_date(local, "long", locale=locale)))


def clock_time(at: datetime, zone: tzinfo, locale: Locale) -> str:
    """``2:05 PM``. UTC says that it is UTC: it is nobody's own time, and stands for a zone that is not known."""
    return clock_times(at, at, zone, locale)


def clock_times(first: datetime, last: datetime, zone: tzinfo, locale: Locale) -> str:
    """``2:05 PM–2:17 PM``, or one time if both are the same minute."""
    pattern = locale.time_formats["short"].pattern
    if locale.language == "ko":
        pattern = pattern.replace("a", "aaaa")  # 오후, where the short form is PM
    both = (format_time(at.astimezone(zone), pattern, locale=locale) for at in (first, last))
    shown = "–".join(dict.fromkeys(both))
    return _whole(f"{shown} UTC" if str(zone) == "UTC" else shown)


def _whole(shown: str) -> str:
    """The same, broken nowhere: with no-break spaces, and joiners where Chinese and Japanese have no space."""
    return _JOINT.sub("\N{WORD JOINER}", shown.replace(" ", "\N{NO-BREAK SPACE}"))


def moment(at: datetime, zone: tzinfo, locale: Locale) -> str:
    """``November 22, 2026, 2:05 PM``, which is broken before the time only."""
    pattern = str(get_datetime_format("long", locale=locale)).replace("'", "")
    return pattern.replace("{1}", day(at, zone, locale)).replace("{0}", clock_time(at, zone, locale))


def relative(at: datetime, now: datetime, locale: Locale) -> str:
    """``2 hours ago``, ``in 14 minutes``: whole, as the halves have other endings in other languages."""
    apart = at - now
    if abs(apart) < timedelta(minutes=1):
        apart = timedelta(minutes=1 if apart > timedelta(0) else -1)
    return format_timedelta(apart, add_direction=True, threshold=1.0, locale=locale)
