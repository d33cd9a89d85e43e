"""What the check of a credentials provider may be, whoever says so: a file, the admin or the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from elicit_flows.kinds.credentials.verifying import PLACE
from elicit_flows.lib import http
from elicit_flows.values import Json

MAX_HEADERS = 10
MAX_URL = 1000
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, section 5.6.2
_VALUE = re.compile(r"[ -~]{1,1000}")
_OURS = {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}  # the dialer's
_VERIFY = {"url", "headers", "basic", "accepted", "refused"}


class Unfit(ValueError):
    """``str``: what is wrong and what to do, to stand behind the name of what is meant."""


def checked_verify(value: Any) -> Json:
    """``{ url, headers, basic, accepted, refused }``; empty for no check. Raises Unfit."""
    if not isinstance(value, dict) or not value.keys() <= _VERIFY:
        raise Unfit(f"must be a table with {', '.join(sorted(_VERIFY))}, or empty for no check")
    if not value:
        return {}
    if "url" not in value:
        raise Unfit("must have a url")
    _check_url(value["url"])
    _check_headers(value.get("headers", {}), basic="basic" in value)
    if "basic" in value and not _is_pair(value["basic"]):
        raise Unfit("basic must be the names of two fields, that of the user name and that of the password")
    for name in ("accepted", "refused"):
        if not _are_statuses(value.get(name, [])):
            raise Unfit(f"{name} must be a list of statuses from 300 to 499")
    if set(value.get("accepted", [])) & set(value.get("refused", [])):
        raise Unfit("says that a status is accepted and that it is refused")
    return value


def _check_url(url: Any) -> None:
    """Braces are refused in a host."""
    if not isinstance(url, str):
        raise Unfit("url must be an address in quotes, such as https://login.example.com/token")
    try:
        http.check_url(url)
    except http.Refused as refusal:
        raise Unfit(f"url is refused: {refusal}") from None
    if len(url) > MAX_URL:
        raise Unfit(f"url must have at most {MAX_URL} characters")


def _check_headers(headers: Any, *, basic: bool) -> None:
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise Unfit(f"headers must be a table of at most {MAX_HEADERS}")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise Unfit(f"headers has {name}, which is no header that may be sent")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise Unfit(f"headers has {name}, whose value is not 1 to 1000 visible ASCII characters")
    names = [name.lower() for name in headers]
    if len(set(names)) < len(names):
        raise Unfit("headers names one twice")
    if basic and "authorization" in names:
        raise Unfit("has basic and an authorization header; leave one out")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value)


def _are_statuses(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and 300 <= one <= 499 for one in value)


def credentials_faults(values: Json) -> Iterator[tuple[str, str]]:
    """What such a provider's values are not together: (key, message)."""
    if not values["fields"]:
        yield "fields", "is missing; add what is asked for, or a preset"
        return
    said = values["verify"]
    if said:
        names = {field["name"] for field in values["fields"]}
        used = set(said.get("basic", [])) | _placed(*_texts(said))
        for name in sorted(used - names):
            yield "verify", f"names the field {name}, which is not one of fields"
        if not used:
            yield "verify", "says nowhere what was typed, so it would accept anything"
        if any(brace in PLACE.sub("", text) for text in _texts(said) for brace in "{}"):
            yield "verify", "has a brace that stands around no name of a field"


def _texts(said: Json) -> list[str]:
    return [said["url"], *said.get("headers", {}).values()]


def _placed(*texts: str) -> set[str]:
    return {name for text in texts for name in PLACE.findall(text)}
