"""The parameters of kind x402. The SDK runs the same code, so nothing here needs Django."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json, is_slug
from elicit_flows.kinds.params import Fault, fault, is_line, unknown
from elicit_flows.lib import text

VERSION = 2
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MAX_URL = 2000
MAX_CHALLENGE = 16 * 1024  # characters as JSON
MAX_ACCEPTS = 20
MAX_AMOUNT = 10**15  # in the token's smallest unit: a thousand million USDC
MAX_TIMEOUT = 86_400
MAX_DESCRIPTION = 250
_NAMES = ("url", "method", "challenge", "account")
_ACCEPTED = {"scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds"}
_AMOUNT = re.compile(r"[1-9][0-9]{0,15}")
_PORTS = {"http": 80, "https": 443}


def clean(given: Json) -> Json:
    """``{url, method, account, challenge: {x402Version, resource, accepts}}``. Raises Invalid with all mistakes.

    ``challenge`` is what the server sent with its 402 (x402 version 2, ``PaymentRequired``). Its ``accepts`` stay
    letter for letter, because a server compares what is paid with what it asked; what else it says is left out.
    """
    asked: Json = {name: given.get(name) for name in _NAMES}
    asked["method"] = "GET" if asked["method"] is None else asked["method"]
    faults = unknown(given, _NAMES)
    if not is_url(asked["url"]):
        faults.append(fault("url", f"Give the address that answered 402, at most {MAX_URL} characters."))
    if asked["method"] not in METHODS:
        faults.append(fault("method", f"Use one of {', '.join(METHODS)}."))
    if asked["account"] is not None and not is_slug(asked["account"]):
        faults.append(fault("account", "Name the payment account by its slug, or leave it out."))
    asked["challenge"], wrong = _challenge(asked["challenge"])
    faults += wrong
    said = asked["challenge"].get("resource", {}).get("url")
    if not faults and said is not None and not same_host(said, asked["url"]):
        what = "The challenge is for another host than the one that sent it; it is not paid."
        faults.append(fault(["challenge", "resource", "url"], what))
    if faults:
        raise Invalid(faults)
    return asked


def is_url(value: Any) -> bool:
    """Whether it is an http or https address without tricks."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_URL or value.startswith("/"):
        return False
    return text.safe_url(value) == value


def same_host(one: str, other: str) -> bool:
    """Whether both are on the same host and port; http and https have the same default port here, because a server
    behind a proxy often does not know which of them it is.
    """
    return _host(one) == _host(other)


def _host(url: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", -1
    return (parts.hostname or "").rstrip("."), None if port == _PORTS.get(parts.scheme) else port


def _challenge(given: Any) -> tuple[Json, list[Fault]]:
    if not isinstance(given, dict) or len(json.dumps(given, ensure_ascii=False, default=str)) > MAX_CHALLENGE:
        what = f"Give what the server sent with its 402, as an object of at most {MAX_CHALLENGE} characters."
        return {}, [fault("challenge", what)]
    if given.get("x402Version") != VERSION:
        return {}, [fault(["challenge", "x402Version"], f"Only version {VERSION} of x402 is paid here.")]
    resource, accepts = given.get("resource"), given.get("accepts")
    faults = []
    kept: Json = {}
    if isinstance(resource, dict) and is_url(resource.get("url")):
        kept["url"] = resource["url"]
        said = resource.get("description")
        line = " ".join(text.visible(said).split())[:MAX_DESCRIPTION] if isinstance(said, str) else ""
        if line:
            kept["description"] = line
    elif resource is not None:
        faults.append(fault(["challenge", "resource", "url"], "The challenge must say the address that it is for."))
    if not isinstance(accepts, list) or not 1 <= len(accepts) <= MAX_ACCEPTS:
        return {}, [*faults, fault(["challenge", "accepts"], f"A challenge has 1 to {MAX_ACCEPTS} ways to pay.")]
    for place, one in enumerate(accepts):
        faults += [fault(["challenge", "accepts", place, *at], what) for at, what in _accepted(one)]
    return {"x402Version": VERSION, "resource": kept, "accepts": accepts}, faults


def _accepted(one: Any) -> list[tuple[list[str], str]]:
    """What is wrong with one way to pay, by the name in it."""
    if not isinstance(one, dict) or not _ACCEPTED <= one.keys() <= _ACCEPTED | {"extra"}:
        return [([], f"A way to pay has {', '.join(sorted(_ACCEPTED))}, and may have extra.")]
    wrong = []
    for name in ("scheme", "network", "asset", "payTo"):
        if not is_line(one[name], 200):
            wrong.append(([name], "Give 1 to 200 visible characters."))
    amount, seconds = one["amount"], one["maxTimeoutSeconds"]
    if not isinstance(amount, str) or not _AMOUNT.fullmatch(amount) or int(amount) > MAX_AMOUNT:
        wrong.append((["amount"], f"Give a whole number of the token's smallest unit from 1 to {MAX_AMOUNT}, as text."))
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 1 <= seconds <= MAX_TIMEOUT:
        wrong.append((["maxTimeoutSeconds"], f"Give a whole number of seconds from 1 to {MAX_TIMEOUT}."))
    if not isinstance(one.get("extra", {}), dict):
        wrong.append((["extra"], "Give an object, or leave it out."))
    return wrong
