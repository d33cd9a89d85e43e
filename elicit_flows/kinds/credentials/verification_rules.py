"""Checks the definition of a credentials check, whether it comes from a file, the admin or the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from elicit_flows import http
from elicit_flows.domain.values import Json
from elicit_flows.kinds.credentials.verification import PLACE
from elicit_flows.lib.sentences import sentence

MAX_HEADERS = 10
MAX_URL = 1000
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, section 5.6.2
_VALUE = re.compile(r"[ -~]{1,1000}")
_OURS = {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}  # set by the HTTP client
_VERIFY = {"url", "headers", "basic", "accepted", "refused"}


class InvalidRule(ValueError):
    """``str`` says what is wrong and what to do, to be shown after the setting's name."""


def checked_verify(value: Any) -> Json:
    """``{ url, headers, basic, accepted, refused }``; empty for no check. Raises InvalidRule."""
    if not isinstance(value, dict) or not value.keys() <= _VERIFY:
        keys = ", ".join(sorted(_VERIFY))
        raise InvalidRule(sentence("must be a table with %(keys)s, or empty for no check", keys=keys))
    if not value:
        return {}
    if "url" not in value:
        raise InvalidRule(sentence("must have a url"))
    _check_url(value["url"])
    _check_headers(value.get("headers", {}), basic="basic" in value)
    pair = value.get("basic", ["", ""])
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair)):
        raise InvalidRule(sentence("basic must be the names of two fields: the user name's and the password's"))
    for name in ("accepted", "refused"):
        statuses = value.get(name, [])
        if not (isinstance(statuses, list) and all(type(one) is int and 300 <= one <= 499 for one in statuses)):
            raise InvalidRule(sentence("%(name)s must be a list of statuses from 300 to 499", name=name))
    if set(value.get("accepted", [])) & set(value.get("refused", [])):
        raise InvalidRule(sentence("has a status in both accepted and refused; leave it in one of them"))
    return value


def _check_url(url: Any) -> None:
    """Raises InvalidRule, also for braces in the host."""
    if not isinstance(url, str):
        raise InvalidRule(sentence("url must be an address in quotes, such as https://login.example.com/token"))
    try:
        http.check_url(url)
    except http.Refused as refusal:
        raise InvalidRule(sentence("url is refused: %(why)s", why=sentence(str(refusal)))) from None
    if len(url) > MAX_URL:
        raise InvalidRule(sentence("url must have at most %(most)s characters", most=MAX_URL))


def _check_headers(headers: Any, *, basic: bool) -> None:
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise InvalidRule(sentence("headers must be a table of at most %(most)s", most=MAX_HEADERS))
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise InvalidRule(sentence("headers has %(name)s, which is not a header that may be set", name=name))
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise InvalidRule(
                sentence("headers has %(name)s, whose value is not 1 to 1000 visible ASCII characters", name=name)
            )
    names = [name.lower() for name in headers]
    if len(set(names)) < len(names):
        raise InvalidRule(sentence("headers has the same name twice"))
    if basic and "authorization" in names:
        raise InvalidRule(sentence("has basic and an authorization header; leave one out"))


def credentials_faults(values: Json) -> Iterator[tuple[str, str]]:
    """Contradictions between the values of such a provider: (key, message)."""
    if not values["fields"]:
        yield "fields", sentence("is missing; add the fields to ask for, or a preset")
        return
    said = values["verify"]
    if said:
        names = {field["name"] for field in values["fields"]}
        texts = [said["url"], *said.get("headers", {}).values()]
        used = set(said.get("basic", [])) | {name for text in texts for name in PLACE.findall(text)}
        for name in sorted(used - names):
            yield "verify", sentence("names the field %(name)s, which is not one of fields", name=name)
        if not used:
            yield (
                "verify",
                sentence(
                    "does not use any field, so it would accept anything; name a field in the url, a header or basic"
                ),
            )
        if any(brace in PLACE.sub("", text) for text in texts for brace in "{}"):
            yield "verify", sentence("has a brace that does not enclose a field's name")
