"""The four formats of a text: what a person may write, and the one way in which the agent gets it."""

from __future__ import annotations

import re
from datetime import date, datetime

FORMATS = ("email", "uri", "date", "date-time")

# WHATWG HTML, "valid e-mail address"; a whole address has at most 254 characters (RFC 5321, section 4.5.3.1.3).
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
# RFC 3986: a scheme, and after it what an address may consist of; an http address has a host.
_URI = re.compile(
    r"(?!https?:(?!//[^/?#]))[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# RFC 3339, section 5.6, without leap seconds
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def fault(format: str, text: str) -> str:
    """What is wrong with ``text``, in a sentence; "" when it is of the format."""
    return _CHECKS[format](text)


def _email(text: str) -> str:
    good = len(text) <= 254 and _EMAIL.fullmatch(text)
    return "" if good else "Write an e-mail address, such as name@example.com."


def _uri(text: str) -> str:
    return "" if _URI.fullmatch(text) else "Write a whole address, such as https://example.com/page."


def _date(text: str) -> str:
    if _DATE.fullmatch(text) and _reads(date, text):
        return ""
    return "Write a date as year-month-day, such as 2026-01-31."


def _moment(text: str) -> str:
    found = _MOMENT.fullmatch(text)
    if found and _reads(datetime, f"{found[1]}T{found[2].partition('.')[0]}{found[3].upper()}"):
        return ""
    return "Give a date and a time, such as 2026-01-31T14:30."


def _reads(what: type[date], text: str) -> bool:
    try:
        what.fromisoformat(text)
    except ValueError:
        return False
    return True


def split(moment: str) -> tuple[str, str]:
    """A moment as two controls show it: the time there, and the difference from UTC ("+00:00")."""
    found = _MOMENT.fullmatch(moment)
    if found is None:
        return "", ""
    zone = "+00:00" if found[3] in "Zz-00:00" else found[3]
    return f"{found[1]}T{found[2]}", zone


def join(local: str, zone: str) -> str:
    """What ``split`` took apart; seconds may be left out of ``local``."""
    seconds = ":00" if re.fullmatch(r"[^T]*T[0-9]{2}:[0-9]{2}", local) else ""
    return f"{local}{seconds}{'Z' if zone == '+00:00' else zone}"


# Every difference from UTC that is in use somewhere (IANA time zone database).
_ZONES = (
    "-12:00 -11:00 -10:00 -09:30 -09:00 -08:00 -07:00 -06:00 -05:00 -04:00 -03:30 -03:00 -02:30 -02:00 -01:00 +00:00 "
    "+01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:45 +09:00 +09:30 "
    "+10:00 +10:30 +11:00 +12:00 +12:45 +13:00 +13:45 +14:00"
)
ZONES = tuple(_ZONES.split())

_CHECKS = {"email": _email, "uri": _uri, "date": _date, "date-time": _moment}
