"""Reads a provider's answers strictly: token responses (RFC 6749, sections 5.1 and 5.2), other JSON, and the issuer of
what a browser brings back (RFC 9207).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elicit_flows import http
from elicit_flows.lib import text
from elicit_flows.oauth.errors import InvalidGrant, IssuerMismatch, ProviderError, Transient
from elicit_flows.oauth.quirks import trouble

MAX_TOKEN = 16384
MAX_LIFE = 10 * 365 * 86400
SCOPE_TOKEN = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")

_TOKEN = re.compile(r"[\x21-\x7e]+")
_ERROR_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
# Codes that mean invalid_grant at any provider: GitHub for a code, GitHub and HubSpot, Slack. Codes that mean it
# at one provider only are in the catalogue (``Quirks.dead_grant``).
_DEAD = frozenset(
    {"invalid_grant", "bad_verification_code", "bad_refresh_token", "invalid_refresh_token", "token_revoked"}
)
# Those that are not in RFC 6749 or RFC 8628 are Slack's, sent with status 200 (docs.slack.dev, "Common errors").
_LATER = frozenset(
    {
        "temporarily_unavailable", "server_error", "slow_down",
        "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout",
    }
)  # fmt: skip
# Where providers that do not follow RFC 6749, section 5.2, put the code and the explanation of an error.
_CODES = ("error", "errors", "code", "error_code", "errorCode", "type", "name", "reason", "status")
_TEXTS = ("error_description", "message", "description", "error_message", "errorMessage", "detail", "reason", "title")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NO_WORDS = frozenset({"error", "fail", "failed", "failure"})
_OPAQUE = re.compile(r"[^\s\"'`(){}\[\]<>,;]{20,}")  # what may be a token rather than a word
MOST_SAID = 200


@dataclass(frozen=True)
class Tokens:
    """A successful answer. ``expires_in`` is in seconds, None if absent or not plausible; ``scopes`` None: as
    requested.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_in: int | None
    scopes: tuple[str, ...] | None
    id_token: str | None = field(repr=False)
    token_type: str = "Bearer"
    said: dict[str, Any] = field(default_factory=dict, repr=False)  # all of the answer
    token_secret: str | None = field(default=None, repr=False)  # OAuth 1.0a


def read_tokens(reply: http.Reply, *, bound: bool = False) -> Tokens:
    """The tokens in ``reply``: of type DPoP if they should be ``bound`` to a key, or else Bearer.

    Raises InvalidGrant, ProviderError and Transient.
    """
    body = checked(reply, required=True)
    token_type = "DPoP" if bound else "Bearer"
    if str(body.get("token_type")).lower() != token_type.lower():
        raise ProviderError("bad_response", "The provider issued a token of a type that cannot be used.")
    access_token = secret(body, "access_token")
    if access_token is None:
        raise unusable()
    return Tokens(
        access_token=access_token,
        refresh_token=secret(body, "refresh_token"),
        expires_in=lifetime(body.get("expires_in")),
        scopes=scopes(body.get("scope")),
        id_token=secret(body, "id_token"),
        token_type=token_type,
        said=body,
    )


def check_issuer(given: Sequence[str], *, expected: str | None, required: bool) -> None:
    """Raise IssuerMismatch unless the ``iss`` parameters of an answer are right (RFC 9207, section 2.4).

    They are compared as strings, character by character. ``expected`` None: the provider has no issuer to compare with.
    """
    if not given and not required:
        return
    if len(given) != 1 or (expected is not None and given[0] != expected):
        raise IssuerMismatch("The answer does not come from the provider that was asked.")


def checked(reply: http.Reply, *, required: bool = False, any_text: bool = False) -> dict[str, Any]:
    """The JSON object in a successful reply; {} if there is none, unless it is ``required``. Raises for every
    unsuccessful reply.
    """
    said = any_json(reply, any_text=any_text)
    body = said if isinstance(said, dict) else None
    refused = not 200 <= reply.status < 300
    code = error_code(body) or (_code_in(body) if refused else "")
    if 300 <= reply.status < 400:
        raise ProviderError("redirect", "The provider redirects where it has to answer itself.")
    if trouble(reply) or code in _LATER:
        raise Transient("The provider is not available now.", sent=True)
    if code in _DEAD:
        raise InvalidGrant("The provider does not accept the grant.")
    if code or refused:
        text = f"The provider refused the request ({code or reply.status})."
        raise ProviderError(code or "bad_response", text, status=reply.status, said=_explained(body))
    if body is None and required:
        raise unusable()
    return body or {}


def any_json(reply: http.Reply, *, any_text: bool = True) -> Any:
    """The body, if its content type is JSON and it is a JSON object or list."""
    if "json" not in reply.headers.get("content-type", "").partition(";")[0].lower():
        return None
    try:
        body = reply.json(any_text=any_text)
    except ValueError:
        return None
    return body if isinstance(body, dict | list) else None


def error_code(body: object) -> str:
    """The OAuth error code in a JSON object, "" if there is none. A malformed code is replaced by "unknown_error".

    If ``error`` is an object or a list, the code in it.
    """
    if not isinstance(body, dict) or body.get("error") in (None, "", False):
        return ""
    return _code_in(body["error"]) or "unknown_error"


def _code_in(said: object, deep: int = 3) -> str:
    """The code in an error of any form, spelled as in the RFCs; "" if there is none."""
    if isinstance(said, list):
        said = said[0] if said else None
    if isinstance(said, int) and not isinstance(said, bool):
        return f"error_{said}" if 0 <= said < 10**9 else ""
    if isinstance(said, str):
        fine = _WORD.fullmatch(said) and not _OPAQUE.search(said.replace("_", " "))
        return said.lower() if fine and said.lower() not in _NO_WORDS else ""
    if not isinstance(said, dict) or not deep:
        return ""
    return next((code for name in _CODES if (code := _code_in(said.get(name), deep - 1))), "")


def _explained(said: object, deep: int = 3) -> str:
    """The explanation of an error, on one line, without what may be a secret; "" if there is none."""
    if isinstance(said, list):
        said = said[0] if said else None
    if isinstance(said, str) and " " in said.strip() and not set("<>") & set(said):
        return visible(_OPAQUE.sub("…", said), MOST_SAID)
    if not isinstance(said, dict) or not deep:
        return ""
    texts = (_explained(said[name], 0) for name in _TEXTS if isinstance(said.get(name), str))
    inner = (
        _explained(said[name], deep - 1) for name in ("error", "errors") if isinstance(said.get(name), dict | list)
    )
    return next((text for text in (*texts, *inner) if text), "")


def visible(said: object, limit: int) -> str:
    """``said`` on one line of at most ``limit`` visible characters; "" if it is not a string.

    The result is not escaped; pages do that.
    """
    if not isinstance(said, str):
        return ""
    words = " ".join(text.visible(said[: 20 * limit]).split())
    return words if len(words) <= limit else f"{words[: limit - 1].rstrip()}…"


def clean_code(code: object) -> str:
    return code if isinstance(code, str) and _ERROR_CODE.fullmatch(code) else "unknown_error"


def secret(body: dict[str, Any], name: str) -> str | None:
    """A token or a code, None if there is none. Raises ProviderError for what cannot be one."""
    value = body.get(name)
    if value in (None, ""):
        return None
    if not isinstance(value, str) or len(value) > MAX_TOKEN or not _TOKEN.fullmatch(value):
        raise unusable()
    return value


def lifetime(value: object) -> int | None:
    """Seconds; None if absent or not plausible."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,10}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value <= MAX_LIFE else None


def scopes(value: object) -> tuple[str, ...] | None:
    """The scopes. RFC 6749 separates them with spaces; GitHub uses commas and Twitch an array."""
    if value is None:
        return None
    names = re.split(r"[ ,]+", value) if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise unusable()
    found = tuple(dict.fromkeys(name for name in names if name))
    if len(found) > 500 or not all(SCOPE_TOKEN.fullmatch(name) for name in found):
        raise unusable()
    return found


def unusable() -> ProviderError:
    return ProviderError("bad_response", "The provider's answer cannot be used.")
