"""Asks a provider whether credentials are valid, before anything is stored."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from enum import Enum, auto
from urllib.parse import parse_qsl, quote, urlsplit

from elicit_flows import http
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.credentials.config import Verify

DEADLINE = 10.0  # seconds
LIMIT = 1024 * 1024  # bytes of the answer, of which only the status is used
MAX_IN_URL = 1000  # characters, escaped
PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_REFUSED = frozenset({401, 403})


class Verdict(Enum):
    ACCEPTED = auto()
    REFUSED = auto()
    UNKNOWN = auto()  # the provider gave no usable answer


def ask(verify: Verify, named: Mapping[str, Secret]) -> Verdict:
    """Send the request; takes at most ten seconds and raises nothing. ``named`` must not contain ``unfit`` values."""
    url = PLACE.sub(lambda place: quote(named[place[1]].reveal(), safe=""), verify.url)
    try:
        headers = {"accept": "application/json"} | credential_headers(verify, named)
        status = http.send("GET", url, headers=headers, deadline=DEADLINE, limit=LIMIT).status
    except (http.Refused, http.Unreachable):
        return Verdict.UNKNOWN
    if 200 <= status < 300 or status in verify.accepted:
        return Verdict.ACCEPTED
    return Verdict.REFUSED if status in _REFUSED | verify.refused else Verdict.UNKNOWN


def unfit(verify: Verify, name: str, typed: str) -> bool:
    """Whether what was typed in the field ``name`` cannot be put where the request needs it."""
    in_url = name in PLACE.findall(verify.url)
    in_header = any(name in PLACE.findall(value) for value in verify.headers.values())
    in_basic = verify.basic is not None and name in verify.basic
    if not typed.isprintable() and (in_url or in_header or in_basic):
        return True
    if in_url and (
        typed in (".", "..") or len(quote(typed, safe="")) > MAX_IN_URL
    ):  # "." and ".." would change the path
        return True
    if in_header and not typed.isascii():
        return True
    return verify.basic is not None and name == verify.basic[0] and ":" in typed


def credential_headers(verify: Verify, named: Mapping[str, Secret]) -> dict[str, str]:
    """The headers with which the credentials are sent. ``named`` must not contain ``unfit`` values."""

    def put(template: str) -> str:
        return PLACE.sub(lambda place: named[place[1]].reveal(), template)

    headers = {name.lower(): put(value) for name, value in verify.headers.items()}
    if verify.basic:
        both = ":".join(named[name].reveal() for name in verify.basic)
        headers["authorization"] = "Basic " + base64.b64encode(both.encode()).decode()
    return headers


def credential_query(verify: Verify, named: Mapping[str, Secret]) -> dict[str, str]:
    """The parameters with which the credentials are sent, if they are sent in the address."""
    pairs = parse_qsl(urlsplit(verify.url).query, keep_blank_values=True)
    return {
        name: PLACE.sub(lambda place: named[place[1]].reveal(), value) for name, value in pairs if PLACE.search(value)
    }
