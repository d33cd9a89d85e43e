"""The parameters of kind oauth."""

from __future__ import annotations

import re
from typing import Any

from elicit_flows import http
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json, is_slug
from elicit_flows.kinds.oauth.mcp_server import clean_url, slug_of
from elicit_flows.kinds.params import is_line
from elicit_flows.oauth import SCOPE_TOKEN

MAX_SCOPES = 50
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BAD_SCOPE = "Give 1 to 256 visible ASCII characters without space, quote or backslash (RFC 6749, section 3.3)."
_NAMES = ("provider", "mcp", "scopes", "reasons", "connection", "variables")
MAX_VARIABLES = 10
MAX_REASON = 200


def clean(params: Json) -> Json:
    """``{provider, scopes, reasons?, mcp?, connection?, variables?}``: scopes without repetitions, [] if left out. For
    a remote MCP server, which is given by its address, ``provider`` is the slug that stands for it. Raises Invalid with
    all errors.
    """
    unknown = [name for name in params if name not in _NAMES]
    errors = [_error([name], f"There is no such parameter; use {', '.join(_NAMES)}.") for name in unknown]
    provider, scopes = params.get("provider"), params.get("scopes", [])
    server: Json = {}
    if params.get("mcp") is not None:
        try:
            server = _mcp_server(params)
            provider = server["provider"]
        except http.Refused as refusal:
            errors.append(_error(["mcp"], f"This is no address of an MCP server: {refusal}"))
    elif not is_slug(provider):
        errors.append(_error(["provider"], "Name the provider by its slug, a non-empty string."))
    if not isinstance(scopes, list) or len(scopes) > MAX_SCOPES:
        errors.append(_error(["scopes"], f"Give a list of at most {MAX_SCOPES} scopes."))
    else:
        errors += [
            _error(["scopes", place], _BAD_SCOPE)
            for place, scope in enumerate(scopes)
            if not (isinstance(scope, str) and SCOPE_TOKEN.fullmatch(scope))
        ]
    again = {name: params[name] for name in ("connection",) if params.get(name) is not None}
    if not all(isinstance(one, str) and _ID.fullmatch(one) for one in again.values()):
        errors.append(_error(["connection"], "Give the id of the connection that is to be connected again."))
    variables = params.get("variables") or {}
    if not isinstance(variables, dict) or len(variables) > MAX_VARIABLES:
        errors.append(_error(["variables"], 'Give an object of names and texts, such as {"shop": "our-shop"}.'))
    else:
        errors += [
            _error(["variables", str(name)], "Give a text of at most 200 characters.")
            for name, value in variables.items()
            if not isinstance(value, str) or len(value) > 200
        ]
    reasons = params.get("reasons") or {}
    errors += _wrong_reasons(reasons, scopes if isinstance(scopes, list) else [])
    if errors:
        raise Invalid(errors)
    proposed = {"variables": variables} if variables else {}
    said = {"reasons": reasons} if reasons else {}
    return {"provider": provider, "scopes": list(dict.fromkeys(scopes)), **said, **again, **proposed, **server}


def _wrong_reasons(reasons: Any, scopes: list[Any]) -> list[dict[str, object]]:
    """What is wrong with ``{scope: why it is needed}``. Only the agent's own scopes have reasons of the agent's."""
    if not isinstance(reasons, dict):
        return [_error(["reasons"], 'Give an object of scopes and texts, such as {"repo": "To open pull requests"}.')]
    unknown = "Give a reason only for a scope that is in scopes."
    return [_error(["reasons", str(name)], unknown) for name in reasons if name not in scopes] + [
        _error(["reasons", str(name)], f"Say in one line of at most {MAX_REASON} visible characters why you need it.")
        for name, why in reasons.items()
        if not is_line(why, MAX_REASON)
    ]


def _mcp_server(params: Json) -> Json:
    """The server's canonical address and its slug. Raises http.Refused."""
    if not isinstance(params["mcp"], str):
        raise http.Refused("Give a text.")
    url = clean_url(params["mcp"])
    # An answer of ours, which names the slug, can be sent again as it is.
    if params.get("provider") not in (None, slug_of(url)) or params.get("variables"):
        raise http.Refused("Give no provider and no variables with it.")
    return {"mcp": url, "provider": slug_of(url)}


def _error(place: list[str | int], message: str) -> dict[str, object]:
    return {"loc": ["params", *place], "message": message}
