"""How a provider strays from the RFCs, as data; and the two seams where that is made good.

On the way out a request that is right by the RFCs is bent to what the provider wants; on the way in its answer is
straightened to what RFC 6749, section 5.1, says. Everything between the two knows no quirk.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from elicit_flows.lib import http

Unit = Literal[
    "seconds", "milliseconds", "timestamp", "rfc3339"
]  # the last two are moments: seconds since 1970, a text
Steps = tuple[str, ...]  # the way to a value in JSON: names, and numbers in lists


@dataclass(frozen=True, slots=True)
class Quirks:
    """What is left out is as the RFCs have it."""

    scope_separator: str = " "
    scope_param: str = "scope"
    client_id_param: str = "client_id"
    client_secret_param: str = "client_secret"
    authorize_params: Mapping[str, str] = field(default_factory=dict)
    token_params: Mapping[str, str] = field(default_factory=dict)
    refresh_params: Mapping[str, str] = field(default_factory=dict)
    refresh_url: str = ""  # "" is the token endpoint
    request_body: Literal["form", "json"] = "form"
    request_headers: Mapping[str, str] = field(default_factory=dict)  # to the token endpoint
    answer_format: Literal["json", "untyped_json", "form"] = "json"  # untyped: whatever its content type says
    answer_path: Steps = ()  # where in the answer the tokens are
    token_type: Literal["bearer", "unsaid"] = "bearer"  # unsaid: none or one of its own, and used as a bearer token
    expires_field: str = "expires_in"
    expires_unit: Unit = "seconds"
    nonce: bool = True  # False: its ID tokens do not have the one that was sent, so none is
    account_source: Literal["userinfo", "token"] = "userinfo"  # token: the answer that has the tokens
    account_id: Steps = ()
    account_label: Steps = ()
    userinfo_method: Literal["GET", "POST"] = "GET"
    userinfo_scheme: str = "Bearer"
    userinfo_headers: Mapping[str, str] = field(default_factory=dict)  # "{client_id}" stands for ours


PLAIN = Quirks()


def bend_url(url: str, quirks: Quirks) -> str:
    """The authorization request as this provider wants it."""
    if quirks == PLAIN:
        return url
    parts = urlsplit(url)
    names = {"client_id": quirks.client_id_param, "scope": quirks.scope_param}
    asked = parse_qsl(parts.query, keep_blank_values=True)
    bent = [
        (names.get(name, name), value.replace(" ", quirks.scope_separator) if name == "scope" else value)
        for name, value in asked
    ]
    said = {name for name, _ in asked}  # by the operator, in the address itself
    bent += [(name, value) for name, value in quirks.authorize_params.items() if name not in said]
    return urlunsplit(parts._replace(query=urlencode(bent)))


def bend_request(headers: Mapping[str, str], body: str, quirks: Quirks) -> tuple[dict[str, str], bytes]:
    """A form for the token endpoint, with the client's credentials where they belong, as this provider wants it."""
    bent = dict(headers)
    if quirks == PLAIN:
        return bent, body.encode()
    names = {"client_id": quirks.client_id_param, "client_secret": quirks.client_secret_param}
    form = [(names.get(name, name), value) for name, value in parse_qsl(body, keep_blank_values=True)]
    bent |= quirks.request_headers
    if quirks.request_body == "json":
        return bent | {"content-type": "application/json"}, json.dumps(dict(form)).encode()
    return bent, urlencode(form).encode()


def straighten(reply: http.Reply, quirks: Quirks) -> http.Reply:
    """An answer with tokens as the RFC has it; what cannot be read so is left as it came."""
    if quirks == PLAIN:
        return reply
    body = _body(reply, quirks.answer_format)
    if not isinstance(body, dict):
        return reply
    inner = at(body, quirks.answer_path)
    said = {**body, **inner} if isinstance(inner, dict) else dict(body)
    if quirks.token_type == "unsaid":
        said["token_type"] = "Bearer"
    life = _seconds(said.pop(quirks.expires_field, None), quirks.expires_unit)
    if life is not None:
        said["expires_in"] = life
    if isinstance(said.get("scope"), str):
        said["scope"] = said["scope"].replace(quirks.scope_separator, " ")
    return replace(reply, headers={**reply.headers, "content-type": "application/json"}, body=_dumped(said))


def at(value: Any, steps: Steps) -> Any:
    """What stands there, or None."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _body(reply: http.Reply, form: str) -> Any:
    """None where it is not of that format."""
    typed = "json" in reply.headers.get("content-type", "").partition(";")[0].lower()
    try:
        if form == "form" and not typed:
            return dict(parse_qsl(reply.body.decode(), keep_blank_values=True, strict_parsing=True))
        return reply.json() if typed or form == "untyped_json" else None
    except ValueError:
        return None


def _seconds(value: Any, unit: str) -> Any:
    """Numbers only are reckoned with; what else it may be is judged where answers are read."""
    if unit == "rfc3339":
        return _until(value)
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
    if not isinstance(number, int | float) or isinstance(number, bool):
        return value
    if unit == "milliseconds":
        return int(number // 1000)
    return max(1, int(number - time.time())) if unit == "timestamp" else number


def _until(moment: Any) -> int | None:
    """None for what is no moment with its difference from UTC."""
    try:
        return max(1, int(datetime.fromisoformat(moment).timestamp() - time.time()))
    except (TypeError, ValueError, OverflowError):
        return None


def _dumped(said: dict[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode()
