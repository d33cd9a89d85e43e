"""The four formats of a text: what a person may write, and the form in which the agent gets it."""

from __future__ import annotations

import re
from datetime import date, datetime

from elicit_flows.lib.sentences import sentence
from elicit_flows.lib.text import gettext_noop

FORMATS = ("email", "uri", "date", "date-time")
# How many characters an answer may need, and how many it may have alone: a time has 25, or 20 in UTC.
LENGTHS = {"date": (10, 10), "date-time": (25, 20)}

# WHATWG HTML, "valid e-mail address"; a whole address has at most 254 characters (RFC 5321, section 4.5.3.1.3).
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
# RFC 3986: a scheme and then the characters of an address; an http address needs a host.
_URI = re.compile(
    r"(?!https?:(?!//[^/?#]))[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# RFC 3339, section 5.6, without leap seconds
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)([Zz]|[+-][0-9]{2}:[0-5][0-9])"
)


def fault(format: str, text: str) -> str:
    """What is wrong with ``text``, as a sentence; "" if it has the format."""
    return _CHECKS[format](text)


def _email(text: str) -> str:
    good = len(text) <= 254 and _EMAIL.fullmatch(text)
    return "" if good else sentence("Write an e-mail address, such as name@example.com.")


def _uri(text: str) -> str:
    return "" if _URI.fullmatch(text) else sentence("Write a whole address, such as https://example.com/page.")


def _date(text: str) -> str:
    if _DATE.fullmatch(text) and _reads(date, text):
        return ""
    return sentence("Write a date as year-month-day, such as 2026-01-31.")


def _moment(text: str) -> str:
    found = _MOMENT.fullmatch(text)
    if found and _reads(datetime, f"{found[1]}T{found[2].partition('.')[0]}{found[3].upper()}"):
        return ""
    return sentence("Give a date and a time, such as 2026-01-31T14:30.")


def _reads(what: type[date], text: str) -> bool:
    try:
        what.fromisoformat(text)
    except ValueError:
        return False
    return True


def split(moment: str) -> tuple[str, str]:
    """A date and time as two controls show it: the local time, and the difference from UTC ("+00:00")."""
    found = _MOMENT.fullmatch(moment)
    if found is None:
        return "", ""
    zone = "+00:00" if found[3] in "Zz-00:00" else found[3]
    return f"{found[1]}T{found[2]}", zone


def join(local: str, zone: str) -> str:
    """The reverse of ``split``. ``local`` may be without seconds."""
    seconds = ":00" if re.fullmatch(r"[^T]*T[0-9]{2}:[0-9]{2}", local) else ""
    return f"{local}{seconds}{'Z' if zone == '+00:00' else zone}"


# Every difference from UTC that is in use somewhere (IANA time zone database).
_ZONES = (
    "-12:00 -11:00 -10:00 -09:30 -09:00 -08:00 -07:00 -06:00 -05:00 -04:00 -03:30 -03:00 -02:30 -02:00 -01:00 +00:00 "
    "+01:00 +02:00 +03:00 +03:30 +04:00 +04:30 +05:00 +05:30 +05:45 +06:00 +06:30 +07:00 +08:00 +08:45 +09:00 +09:30 "
    "+10:00 +10:30 +11:00 +12:00 +12:45 +13:00 +13:45 +14:00"
)
ZONES = tuple(_ZONES.split())
ZONE_PLACES = {
    "-10:00": gettext_noop("Honolulu"),
    "-09:00": gettext_noop("Anchorage in winter"),
    "-08:00": gettext_noop("Los Angeles in winter"),
    "-07:00": gettext_noop("Denver in winter, Los Angeles in summer"),
    "-06:00": gettext_noop("Chicago in winter, Mexico City"),
    "-05:00": gettext_noop("New York in winter, Bogotá"),
    "-04:00": gettext_noop("New York in summer, Halifax in winter"),
    "-03:00": gettext_noop("São Paulo, Buenos Aires"),
    "+00:00": gettext_noop("London in winter, Accra"),
    "+01:00": gettext_noop("Berlin in winter, London in summer, Lagos"),
    "+02:00": gettext_noop("Berlin in summer, Helsinki in winter, Johannesburg"),
    "+03:00": gettext_noop("Helsinki in summer, Istanbul, Nairobi"),
    "+03:30": gettext_noop("Tehran"),
    "+04:00": gettext_noop("Dubai"),
    "+04:30": gettext_noop("Kabul"),
    "+05:00": gettext_noop("Karachi, Tashkent"),
    "+05:30": gettext_noop("India"),
    "+05:45": gettext_noop("Kathmandu"),
    "+06:00": gettext_noop("Dhaka"),
    "+06:30": gettext_noop("Yangon"),
    "+07:00": gettext_noop("Bangkok, Jakarta"),
    "+08:00": gettext_noop("Beijing, Singapore, Perth"),
    "+09:00": gettext_noop("Tokyo, Seoul"),
    "+09:30": gettext_noop("Darwin"),
    "+10:00": gettext_noop("Sydney in winter, Brisbane"),
    "+11:00": gettext_noop("Sydney in summer"),
    "+12:00": gettext_noop("Auckland in winter"),
    "+13:00": gettext_noop("Auckland in summer"),
}

_CHECKS = {"email": _email, "uri": _uri, "date": _date, "date-time": _moment}
