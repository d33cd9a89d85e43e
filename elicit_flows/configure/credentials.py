"""Providers whose keys people hand over: what their values must look like, and what they must be together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from elicit_flows.configure.faults import Wrong
from elicit_flows.configure.values import return_url, url
from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.credentials.verifying import PLACE
from elicit_flows.values import Json

MAX_HEADERS = 10
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")  # RFC 9110, section 5.6.2
_VALUE = re.compile(r"[ -~]{1,1000}")
_OURS = {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"}  # the dialer's
_VERIFY = {"url", "headers", "basic", "accepted", "refused"}


def credential_fields(value: Any) -> list[Json]:
    """``[{ name, label, secret, help, pattern, example }]``. Raises Wrong."""
    for at, said in fields.faults(value, fields.OPERATORS):
        place = "".join([f"number {at[0] + 1}", *(f", {key}" for key in at[1:]), ": "]) if at else ""
        raise Wrong(f"{place}{said[:1].lower()}{said[1:]}".removesuffix("."))
    return [fields.complete(field, fields.OPERATORS) for field in value]


def find_url(value: Any) -> str:
    """Where people go, never we."""
    address = return_url(value)
    if len(address) > 1000:
        raise Wrong("must have at most 1000 characters")
    return address


def verify(value: Any) -> Json | None:
    """``{ url, headers, basic, accepted, refused }``; empty for no check. Raises Wrong."""
    if not isinstance(value, dict) or not value.keys() <= _VERIFY:
        raise Wrong(f"must be a table with {', '.join(sorted(_VERIFY))}, or empty for no check")
    if not value:
        return None
    if "url" not in value:
        raise Wrong("must have a url")
    try:
        url(value["url"])  # braces are refused in a host
    except Wrong as wrong:
        raise Wrong(f"url {wrong}") from None
    _check_headers(value.get("headers", {}), basic="basic" in value)
    if "basic" in value and not _is_pair(value["basic"]):
        raise Wrong("basic must be the names of two fields, that of the user name and that of the password")
    for name in ("accepted", "refused"):
        if not _are_statuses(value.get(name, [])):
            raise Wrong(f"{name} must be a list of statuses from 300 to 499")
    if set(value.get("accepted", [])) & set(value.get("refused", [])):
        raise Wrong("says that a status is accepted and that it is refused")
    return value


def _check_headers(headers: Any, *, basic: bool) -> None:
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise Wrong(f"headers must be a table of at most {MAX_HEADERS}")
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
            raise Wrong(f"headers has {name}, which is no header that may be sent")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise Wrong(f"headers has {name}, whose value is not 1 to 1000 visible ASCII characters")
    names = [name.lower() for name in headers]
    if len(set(names)) < len(names):
        raise Wrong("headers names one twice")
    if basic and "authorization" in names:
        raise Wrong("has basic and an authorization header; leave one out")


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
