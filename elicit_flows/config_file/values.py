"""Rules for single values. A rule takes a value and returns what is stored, or raises InvalidValue."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from elicit_flows import http
from elicit_flows.domain.values import Json, Secret, is_slug
from elicit_flows.http.destinations import is_loopback_name
from elicit_flows.kinds.oauth import mcp_server
from elicit_flows.kinds.oauth.connection_metadata import is_host_pattern
from elicit_flows.lib.sentences import sentence
from elicit_flows.lib.text import is_app_address
from elicit_flows.oauth import SCOPE_TOKEN

Rule = Callable[[Any], Any]

MAX_SECRET_LENGTH = 16 * 1024
MAX_DEAD_GRANT_SIGNS = 20
DEAD_GRANT_EXAMPLE = '{ status = 400, path = ["status"], words = ["BAD_REFRESH_TOKEN"] }'
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_VISIBLE = re.compile(r"[!-~]+")


class InvalidValue(Exception):
    """A value that breaks a rule. ``str``: one line with what is wrong and what to do. It contains no secret."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong in a file. ``line`` counts from 1."""

    line: int
    key: str
    message: str


class InvalidFile(Exception):
    """A configuration file that cannot be applied; ``faults`` says why, in the order of the lines."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults = sorted(faults)


def text(limit: int) -> Rule:
    """One line of printable text, 1 to ``limit`` characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= limit or not value.isprintable():
            raise InvalidValue(sentence("must be one line of text, 1 to %(most)s characters", most=limit))
        return value

    return read


def in_languages(name: str, value: Any, limit: int) -> dict[str, str]:
    """``{ en = "…", de = "…" }``: one line of text for each language. ``name`` stands in what the error says."""
    known = dict(settings.LANGUAGES)
    if not isinstance(value, dict) or value.keys() - known.keys():
        raise InvalidValue(f'{name} must be like {{ en = "…", de = "…" }}, with {", ".join(known)}')
    found = {}
    for language, said in value.items():
        try:
            found[language] = str(text(limit)(said))
        except InvalidValue as error:
            raise InvalidValue(f"{name} in {language} {error}") from None
    return found


def slug(value: Any) -> str:
    """A slug is part of redirect URIs and of webhook addresses."""
    if not is_slug(value):
        raise InvalidValue(sentence("must be 1 to 64 letters, digits, hyphens or underscores"))
    return str(value)


def one_of(*choices: str) -> Rule:
    """One of these texts."""

    def read(value: Any) -> str:
        if value not in choices or not isinstance(value, str):
            raise InvalidValue(
                sentence("must be one of: %(choices)s", choices=", ".join(f'"{choice}"' for choice in choices))
            )
        return value

    return read


def whole_number(low: int, high: int) -> Rule:
    """An integer from ``low`` to ``high``."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidValue(sentence("must be a whole number from %(low)s to %(high)s", low=low, high=high))
        return value

    return read


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(sentence("must be true or false"))
    return value


def secret(check: Callable[[Secret], None] | None = None) -> Rule:
    """A secret in place, as ``env:NAME`` or as ``file:PATH``, which ``check`` accepts.

    A relative path starts in the folder that the command runs in. The forms of the admin never call this rule, only
    ``check``: a page must not read the server's variables and files.
    """

    def read(value: Any) -> Secret:
        if not isinstance(value, str) or not value:
            raise InvalidValue(sentence("must be a secret in quotes, env:NAME or file:PATH"))
        source, _, name = value.partition(":")
        if source == "env":
            content = os.environ.get(name, "")
            if not content:
                raise InvalidValue(sentence("names the environment variable %(name)s, which is not set", name=name))
        elif source == "file":
            try:
                content = Path(name).read_text(encoding="utf-8-sig").strip()
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
                raise InvalidValue(
                    sentence("names the file %(name)s, which cannot be read (%(why)s)", name=name, why=why)
                ) from None
        else:
            content = value
        if not 0 < len(content) <= MAX_SECRET_LENGTH or "\0" in content:
            raise InvalidValue(sentence("must be a secret of 1 to %(most)s characters", most=MAX_SECRET_LENGTH))
        given = Secret(content)
        if check:
            check(given)
        return given

    return read


def mcp_host(value: Any) -> str:
    """A host whose remote MCP servers agents may use: ``host``, ``*.domain``, either with a port, or * for any."""
    if not isinstance(value, str) or not (value == mcp_server.ANY or is_host_pattern(value)):
        raise InvalidValue(
            sentence("must be a host in lower case, such as mcp.example.com or *.example.com, or * for any host")
        )
    return value


def list_of(rule: Rule, most: int = 100) -> Rule:
    """At most ``most`` values that ``rule`` accepts, in the order given. Repeated values are dropped."""

    def read(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise InvalidValue(sentence("must be a list of at most %(most)s", most=most))
        return list(dict.fromkeys(_items(rule, value)))

    return read


def _items(rule: Rule, values: list[Any]) -> list[Any]:
    """What ``rule`` makes of each value. An error says the number of the value, from 1."""
    items = []
    for number, value in enumerate(values, 1):
        try:
            items.append(rule(value))
        except InvalidValue as error:
            raise InvalidValue(sentence("number %(number)s %(problem)s", number=number, problem=str(error))) from None
    return items


def scope(value: Any) -> str:
    """One scope (RFC 6749, section 3.3)."""
    if not isinstance(value, str) or not SCOPE_TOKEN.fullmatch(value):
        raise InvalidValue(sentence("must be one scope: visible ASCII characters without space, quote or backslash"))
    return value


def openid_scopes(value: Any) -> list[str]:
    scopes: list[str] = list_of(scope)(value)
    if "openid" not in scopes:
        raise InvalidValue(
            sentence('must contain "openid": without it nobody can sign in (OpenID Connect Core, 3.1.2.1)')
        )
    return scopes


def url(value: Any) -> str:
    """An https address on the public internet, to which this service sends requests."""
    if not isinstance(value, str):
        raise InvalidValue(sentence("must be an address in quotes, such as https://login.example.com/token"))
    try:
        http.check_url(value)
    except http.Refused as refusal:
        raise InvalidValue(sentence("is refused: %(why)s", why=sentence(str(refusal)))) from None
    if len(value) > 1000:
        raise InvalidValue(sentence("must have at most 1000 characters"))
    return value


def issuer(value: Any) -> str:
    """Stored unchanged: issuers are compared character by character (OpenID Connect Discovery 1.0, section 4.3)."""
    address = url(value)
    if "?" in address or len(address) > 500:
        raise InvalidValue(sentence("must be an issuer: at most 500 characters, without a query"))
    return address


def resource(value: Any) -> str:
    """The audience of a token: an absolute URI without fragment (RFC 8707, section 2). No request is sent to it."""
    if not isinstance(value, str) or not 0 < len(value) <= 1000 or not _VISIBLE.fullmatch(value) or "#" in value:
        raise InvalidValue(
            sentence("must be an absolute URI without a fragment, at most 1000 visible ASCII characters")
        )
    scheme, colon, rest = value.partition(":")
    if not _SCHEME.fullmatch(scheme) or not colon or not rest:
        raise InvalidValue(sentence("must be an absolute URI, such as https://mcp.example.com/"))
    return value


def dead_grant(value: Any) -> list[Json]:
    """``[{ words, path, status }]``: the error responses of a provider that mean that a grant has ended."""
    if not isinstance(value, list) or len(value) > MAX_DEAD_GRANT_SIGNS:
        raise InvalidValue(
            sentence(
                "must be a list of at most %(most)s, such as %(example)s",
                most=MAX_DEAD_GRANT_SIGNS,
                example=DEAD_GRANT_EXAMPLE,
            )
        )
    rules = {"words": list_of(text(200), most=20), "path": response_path, "status": whole_number(200, 499)}
    signs = []
    for number, given in enumerate(value, 1):
        if not isinstance(given, dict) or "words" not in given or given.keys() - rules.keys():
            raise InvalidValue(
                sentence(
                    "number %(number)s must have words and may have path and status, such as %(example)s",
                    number=number,
                    example=DEAD_GRANT_EXAMPLE,
                )
            )
        sign: Json = {"path": ["error"]}
        for name in [name for name in rules if name in given]:
            try:
                sign[name] = rules[name](given[name])
            except InvalidValue as error:
                raise InvalidValue(
                    sentence("number %(number)s, %(name)s %(problem)s", number=number, name=name, problem=str(error))
                ) from None
        if not sign["words"]:
            raise InvalidValue(sentence("number %(number)s, words must have one at least", number=number))
        signs.append(sign)
    return signs


def response_path(value: Any) -> list[str]:
    """The way to a value in JSON."""
    # Not list_of, which drops repeated names: a path may contain the same name twice.
    if not isinstance(value, list) or not 0 < len(value) <= 8:
        raise InvalidValue(sentence('must be a list of 1 to 8 names, such as ["error", "code"]'))
    return _items(text(200), value)


def return_url(value: Any) -> str:
    """An https address, or one of a native app: a private-use scheme as in RFC 8252, section 7.1."""
    return value if isinstance(value, str) and is_app_address(value) else browser_url(value)


def browser_url(value: Any) -> str:
    """An https address to which only browsers go, so private hosts are allowed too."""
    if not isinstance(value, str) or len(value) > 2000 or not _VISIBLE.fullmatch(value) or "\\" in value:
        raise InvalidValue(sentence("must be an https address, at most 2000 visible ASCII characters"))
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidValue(sentence("is not a well-formed address")) from None
    loopback = http.policy().allow_loopback and is_loopback_name(host)
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and loopback)):
        raise InvalidValue(sentence("must begin with https:// and name a host"))
    if "@" in parts.netloc or "#" in value:
        raise InvalidValue(sentence("must not carry a user name, a password or a fragment"))
    return value
