"""Readers for single values: each answers the value as it is kept, or raises Wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from elicit_flows.configure.faults import Wrong
from elicit_flows.lib import http
from elicit_flows.lib.http.urls import is_loopback_name
from elicit_flows.lib.oauth import SCOPE_TOKEN

Reader = Callable[[Any], Any]

_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_VISIBLE = re.compile(r"[!-~]+")


def text(limit: int) -> Reader:
    """One line of printable text, 1 to ``limit`` characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= limit or not value.isprintable():
            raise Wrong(f"must be one line of text, 1 to {limit} characters")
        return value

    return read


def slug(value: Any) -> str:
    """It stands in redirect URIs."""
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        raise Wrong("must be 1 to 64 letters, digits, hyphens or underscores")
    return value


def one_of(*choices: str) -> Reader:
    def read(value: Any) -> str:
        if value not in choices or not isinstance(value, str):
            raise Wrong("must be " + " or ".join(f'"{choice}"' for choice in choices))
        return value

    return read


def whole(low: int, high: int) -> Reader:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Wrong(f"must be a whole number from {low} to {high}")
        return value

    return read


def yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def list_of(reader: Reader, most: int = 100) -> Reader:
    """Without repetitions, in the order given."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise Wrong(f"must be a list of at most {most}")
        return list(dict.fromkeys(_item(reader, place, item) for place, item in enumerate(value, 1)))

    return read


def _item(reader: Reader, place: int, value: Any) -> Any:
    try:
        return reader(value)
    except Wrong as wrong:
        raise Wrong(f"number {place} {wrong}") from None


def scope(value: Any) -> str:
    if not isinstance(value, str) or not SCOPE_TOKEN.fullmatch(value):
        raise Wrong("must be one scope: visible ASCII characters without space, quote or backslash")
    return value


def openid_scopes(value: Any) -> list[str]:
    scopes: list[str] = list_of(scope)(value)
    if "openid" not in scopes:
        raise Wrong('must contain "openid": without it nobody is signed in (OpenID Connect Core, 3.1.2.1)')
    return scopes


def url(value: Any) -> str:
    """Where we send requests or browsers: on the public internet, https."""
    if not isinstance(value, str):
        raise Wrong("must be an address in quotes, such as https://login.example.com/token")
    try:
        http.check_url(value)
    except http.Refused as refusal:
        raise Wrong(f"is refused: {refusal}") from None
    if len(value) > 1000:
        raise Wrong("must have at most 1000 characters")
    return value


def issuer(value: Any) -> str:
    """Kept letter for letter: it is compared so (OpenID Connect Discovery 1.0, section 4.3)."""
    address = url(value)
    if "?" in address or len(address) > 500:
        raise Wrong("must be an issuer: at most 500 characters, without a query")
    return address


def resource(value: Any) -> str:
    """What a token is to be for: an absolute URI without fragment (RFC 8707, section 2). Nobody asks there."""
    if not isinstance(value, str) or not 0 < len(value) <= 1000 or not _VISIBLE.fullmatch(value) or "#" in value:
        raise Wrong("must be an absolute URI without a fragment, at most 1000 visible ASCII characters")
    scheme, colon, rest = value.partition(":")
    if not _SCHEME.fullmatch(scheme) or not colon or not rest:
        raise Wrong("must be an absolute URI, such as https://mcp.example.com/")
    return value


def return_url(value: Any) -> str:
    """Where a browser goes, never we: any https host will do."""
    if not isinstance(value, str) or len(value) > 2000 or not _VISIBLE.fullmatch(value) or "\\" in value:
        raise Wrong("must be an https address, at most 2000 visible ASCII characters")
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise Wrong("is not a well-formed address") from None
    near = http.policy().allow_loopback and is_loopback_name(host)
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and near)):
        raise Wrong("must begin with https:// and name a host")
    if "@" in parts.netloc or "#" in value:
        raise Wrong("must not carry a user name, a password or a fragment")
    return value
