"""What an agent may ask of kind oauth."""

from __future__ import annotations

import re
from typing import Any

from elicit_flows.errors import Invalid
from elicit_flows.lib.oauth import SCOPE_TOKEN
from elicit_flows.values import Json

MAX_SCOPES = 50
_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMES = ("provider", "scopes")


def clean(params: Json) -> Json:
    """``{provider, scopes}``, scopes without repetitions, [] when left out. Raises Invalid with every error at once."""
    errors = [_error([name], f"There is no such parameter; use {' and '.join(_NAMES)}.") for name in _unknown(params)]
    provider, scopes = params.get("provider"), params.get("scopes", [])
    if not isinstance(provider, str) or not _SLUG.fullmatch(provider):
        errors.append(_error(["provider"], "Name the provider by its slug, a non-empty string."))
    if not isinstance(scopes, list) or len(scopes) > MAX_SCOPES:
        errors.append(_error(["scopes"], f"Give a list of at most {MAX_SCOPES} scopes."))
    else:
        errors += [_error(["scopes", place], _BAD_SCOPE) for place, scope in enumerate(scopes) if not _is_scope(scope)]
    if errors:
        raise Invalid(errors)
    return {"provider": provider, "scopes": list(dict.fromkeys(scopes))}


_BAD_SCOPE = "A scope is 1 to 256 visible ASCII characters without space, quote or backslash (RFC 6749, section 3.3)."


def _unknown(params: Json) -> list[str]:
    return [name for name in params if name not in _NAMES]


def _is_scope(scope: Any) -> bool:
    return isinstance(scope, str) and SCOPE_TOKEN.fullmatch(scope) is not None


def _error(place: list[str | int], message: str) -> dict[str, object]:
    return {"loc": ["params", *place], "message": message}
