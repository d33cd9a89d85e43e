"""What an agent may ask of kind oauth."""

from __future__ import annotations

import re
from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.lib.oauth import SCOPE_TOKEN
from elicit_flows.values import Json

MAX_SCOPES = 50
_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMES = ("provider", "scopes", "connection")


def clean(params: Json) -> Json:
    """``{provider, scopes, connection?}``, scopes without repetitions, [] when left out. Raises Invalid, with every
    error at once.
    """
    errors = [_error([name], f"There is no such parameter; use {', '.join(_NAMES)}.") for name in _unknown(params)]
    provider, scopes = params.get("provider"), params.get("scopes", [])
    if not isinstance(provider, str) or not _SLUG.fullmatch(provider):
        errors.append(_error(["provider"], "Name the provider by its slug, a non-empty string."))
    if not isinstance(scopes, list) or len(scopes) > MAX_SCOPES:
        errors.append(_error(["scopes"], f"Give a list of at most {MAX_SCOPES} scopes."))
    else:
        errors += [_error(["scopes", place], _BAD_SCOPE) for place, scope in enumerate(scopes) if not _is_scope(scope)]
    again = {name: params[name] for name in ("connection",) if params.get(name) is not None}
    if not all(isinstance(one, str) and _ID.fullmatch(one) for one in again.values()):
        errors.append(_error(["connection"], "Name the connection that is to be connected again by its id."))
    if errors:
        raise Invalid(errors)
    return {"provider": provider, "scopes": list(dict.fromkeys(scopes)), **again}


_BAD_SCOPE = "A scope is 1 to 256 visible ASCII characters without space, quote or backslash (RFC 6749, section 3.3)."


def _unknown(params: Json) -> list[str]:
    return [name for name in params if name not in _NAMES]


def _is_scope(scope: Any) -> bool:
    return isinstance(scope, str) and SCOPE_TOKEN.fullmatch(scope) is not None


def _error(place: list[str | int], message: str) -> dict[str, object]:
    return {"loc": ["params", *place], "message": message}
