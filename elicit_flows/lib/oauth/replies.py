"""What a token endpoint may answer, read strictly (RFC 6749, sections 5.1 and 5.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from elicit_flows.lib import http
from elicit_flows.lib.oauth.errors import InvalidGrant, ProviderError, Transient

MAX_TOKEN = 16384
MAX_LIFE = 10 * 365 * 86400
SCOPE_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")

_TOKEN = re.compile(r"[\x21-\x7e]+")
_ERROR_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
# The second and third are GitHub's words for the first.
_DEAD = frozenset({"invalid_grant", "bad_verification_code", "bad_refresh_token"})
_LATER = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
_LATER_STATUS = frozenset({408, 425, 429})


@dataclass(frozen=True)
class Tokens:
    """A good answer. ``expires_in`` in seconds, None when it is absent or senseless; ``scopes`` None: as asked for."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_in: int | None
    scopes: tuple[str, ...] | None
    id_token: str | None = field(repr=False)
    token_type: str = "Bearer"
    said: dict[str, Any] = field(default_factory=dict, repr=False)  # all of the answer


def read_tokens(reply: http.Reply, *, bound: bool = False) -> Tokens:
    """The tokens in ``reply``, of type DPoP where they were to be ``bound`` to a key, else Bearer.

    Raises InvalidGrant, ProviderError, Transient.
    """
    body = checked(reply)
    if body is None:
        raise _unusable()
    token_type = "DPoP" if bound else "Bearer"
    if str(body.get("token_type")).lower() != token_type.lower():
        raise ProviderError("bad_response", "The provider issued a token of a type that cannot be used.")
    access_token = secret(body, "access_token")
    if access_token is None:
        raise _unusable()
    return Tokens(
        access_token=access_token,
        refresh_token=secret(body, "refresh_token"),
        expires_in=lifetime(body.get("expires_in")),
        scopes=_scopes(body.get("scope")),
        id_token=secret(body, "id_token"),
        token_type=token_type,
        said=body,
    )


def checked(reply: http.Reply) -> dict[str, Any] | None:
    """The JSON object in a good reply, None when it is not one. Raises for every reply that is not good."""
    body = json_object(reply)
    code = error_code(body)
    if 300 <= reply.status < 400:
        raise ProviderError("redirect", "The provider redirects where it must answer.")
    if reply.status >= 500 or reply.status in _LATER_STATUS or code in _LATER:
        raise Transient("The provider cannot answer now.", sent=True)
    if code in _DEAD:
        raise InvalidGrant("The provider does not honour the grant.")
    if code or not 200 <= reply.status < 300:
        raise ProviderError(code or "bad_response", f"The provider refused the request ({code or reply.status}).")
    return body


def json_object(reply: http.Reply) -> dict[str, Any] | None:
    """The body where it says that it is JSON and is a JSON object."""
    if "json" not in reply.headers.get("content-type", "").partition(";")[0].lower():
        return None
    try:
        body = reply.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def error_code(body: dict[str, Any] | None) -> str:
    """The OAuth error code in ``body``, "" when there is none; a code that is not well-formed is not repeated."""
    if body is None or body.get("error") in (None, ""):
        return ""
    return clean_code(body["error"])


def clean_code(code: object) -> str:
    return code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else "unknown_error"


def secret(body: dict[str, Any], name: str) -> str | None:
    """A token or a code, None when there is none. Raises ProviderError for what cannot be one."""
    value = body.get(name)
    if value in (None, ""):
        return None
    if not isinstance(value, str) or len(value) > MAX_TOKEN or not _TOKEN.fullmatch(value):
        raise _unusable()
    return value


def lifetime(value: object) -> int | None:
    """Seconds; None when they are absent or senseless."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= MAX_LIFE else None


def _scopes(value: object) -> tuple[str, ...] | None:
    """Space-separated as the RFC says; commas (GitHub) and arrays (Twitch) occur."""
    if value is None:
        return None
    names = re.split(r"[ ,]+", value) if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _unusable()
    found = tuple(dict.fromkeys(name for name in names if name))
    if len(found) > 500 or not all(SCOPE_TOKEN.fullmatch(name) for name in found):
        raise _unusable()
    return found


def _unusable() -> ProviderError:
    return ProviderError("bad_response", "The provider's answer cannot be used.")
