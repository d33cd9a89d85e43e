"""What of another program's request and of its reply may be passed on: path, query and headers.

A path stays below the path of its base, however a server decodes it (threat T163). Headers that concern one connection,
that carry credentials or that say something else than the request itself are left out (T165, T166).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from elicit_flows.http.destinations import Refused, Target, check_url

MAX_TARGET = 8192  # bytes of path and query
_PATH = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_QUERY = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\[\]{}|^`\"<>-]|%[0-9A-Fa-f]{2})*")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_DECODINGS = 4  # a path that is encoded more often than this is refused

# RFC 9110, 7.6.1, and what older clients use.
_HOP_BY_HOP = frozenset(
    """connection keep-alive proxy-connection te trailer transfer-encoding upgrade content-length expect
    host""".split()  # noqa: SIM905
)
# Credentials; where a request came from; what makes a server read another method, path or host than those of the
# request line, so that what is checked and logged here would not be what happens there.
_NOT_SENT = frozenset(
    """accept-encoding authorization cookie cookie2 dpop forwarded from via max-forwards origin referer
    client-ip true-client-ip x-client-ip x-real-ip x-cluster-client-ip cf-connecting-ip fastly-client-ip x-host
    x-http-method x-http-method-override x-method-override x-original-url x-original-uri x-rewrite-url
    x-original-host""".split()  # noqa: SIM905
)
_NOT_SENT_PREFIXES = ("x-forwarded", "proxy-", "sec-", "elicit-", "access-control-", "x-envoy-", "x-amzn-oidc-")
# Those that would act in a browser or in a cache under our name, and those that this service sets itself.
_NOT_RETURNED = frozenset(
    """set-cookie set-cookie2 clear-site-data alt-svc strict-transport-security public-key-pins refresh
    service-worker-allowed content-security-policy content-security-policy-report-only nel report-to
    reporting-endpoints proxy-authenticate authentication-info proxy-authentication-info dpop-nonce location
    content-location cache-control pragma expires age via server date x-content-type-options x-frame-options
    referrer-policy permissions-policy ratelimit-limit ratelimit-remaining ratelimit-reset x-request-id
    origin-agent-cluster""".split()  # noqa: SIM905
)
_NOT_RETURNED_PREFIXES = ("access-control-", "cross-origin-", "proxy-", "elicit-", "sec-")
_NAME = re.compile(rb"[!#$%&'*+\-.^`|~0-9A-Za-z]+")  # no underscore: some servers take it for a hyphen
_VALUE = re.compile(rb"(?:[!-~\x80-\xff](?:[ \t!-~\x80-\xff]*[!-~\x80-\xff])?)?")


class Unfit(Exception):
    """The request cannot be passed on. ``str`` is one sentence that says why."""


def target(base: str, path: bytes, query: bytes) -> Target:
    """The address of ``path``, as it was written, below ``base``. Raises ``Unfit``, and ``Refused`` for the base."""
    at = check_url(base)
    _check_path(path)
    if not _QUERY.fullmatch(query):
        raise Unfit("The query has a character that does not belong there.")
    whole = at.path.rstrip("/") + path.decode("ascii") + (f"?{query.decode('ascii')}" if query else "")
    if len(whole) > MAX_TARGET:
        raise Unfit(f"Path and query may have {MAX_TARGET} bytes.")
    # Read what it became, as a client reads it: it must have the host of the base.
    if urlsplit(f"{at.scheme}://{at.authority}{whole}").netloc != at.authority:
        raise Unfit("The path leads to another host.")
    return replace(at, path=whole or "/")


def _check_path(path: bytes) -> None:
    if not _PATH.fullmatch(path) or (path and not path.startswith(b"/")):
        raise Unfit("The path has a character that does not belong there.")
    if b"//" in path:
        raise Unfit("The path has an empty part.")
    read = path
    for _ in range(_DECODINGS):
        decoded = unquote_to_bytes(read)
        if _CONTROL.search(decoded) or b"\\" in decoded:
            raise Unfit("The path has a character that does not belong there.")
        if decoded.startswith(b"//"):
            raise Unfit("The path has an empty part.")
        # A server may cut ";…" off before it looks for dots.
        if any(part.partition(b";")[0] in (b".", b"..") for part in decoded.split(b"/")):
            raise Unfit("The path has a part that is . or .., which could lead out of the API.")
        if decoded == read:
            return
        read = decoded
    raise Unfit("The path is encoded several times.")


def plain(called: Target) -> str:
    """Host and path as a server may read them, for comparing: decoded, in lower case, without parameters and empty
    parts.
    """
    path = called.path.partition("?")[0].encode("ascii")
    for _ in range(_DECODINGS):
        path = unquote_to_bytes(path)
    parts = [part.partition(b";")[0] for part in path.lower().split(b"/")]
    return called.authority + b"".join(b"/" + part for part in parts if part).decode("latin-1")


def without(query: bytes, names: Iterable[str]) -> bytes:
    """The query without these parameters."""
    left = {name.lower().encode() for name in names}
    if not left:
        return query
    pairs = [pair for pair in re.split(rb"[&;]", query) if pair]
    kept = [pair for pair in pairs if unquote_to_bytes(pair.partition(b"=")[0]).lower() not in left]
    return b"&".join(kept)


def request_headers(given: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers of the request that are passed on. Repeated ones are joined."""
    given = list(given)
    listed = _listed(value for name, value in given if name.lower() == b"connection")
    found: dict[str, str] = {}
    for raw, value in given:
        name = raw.decode("latin-1").lower()
        if (
            name in _HOP_BY_HOP | _NOT_SENT | listed
            or name.startswith(_NOT_SENT_PREFIXES)
            or not (_NAME.fullmatch(raw) and _VALUE.fullmatch(value))
        ):
            continue
        text = value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def reply_headers(given: Mapping[str, str], secrets: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """The headers of the reply that are passed on, without any that contains one of ``secrets``."""
    listed = _listed(given.get("connection", "").encode("latin-1").splitlines())
    known = list(secrets)
    found = []
    for name, text in given.items():
        raw, value = name.encode("latin-1"), text.encode("latin-1")
        if (
            (name in _HOP_BY_HOP and name != "content-length")
            or name in _NOT_RETURNED | listed
            or name.startswith(_NOT_RETURNED_PREFIXES)
            or not (_NAME.fullmatch(raw) and _VALUE.fullmatch(value))
            or shows(text, known)
        ):
            continue
        found.append((raw, value))
    return found


def shows(text: str, secrets: Iterable[str]) -> bool:
    """Whether one of ``secrets`` stands in the value of a header, also with escapes as in an address."""
    raw = text.encode("latin-1")
    both = raw, unquote_to_bytes(raw)
    return any(one.encode() in read for one in secrets if one for read in both)


def location(given: str, called: Target, hosts: Iterable[str]) -> str | None:
    """Where a redirect leads, as an absolute address; None if that is not one of ``hosts`` (authorities)."""
    try:
        whole = urljoin(f"{called.scheme}://{called.authority}{called.path}", given)
        to = check_url(whole.partition("#")[0])
    except (Refused, ValueError):
        return None
    return f"{to.scheme}://{to.authority}{to.path}" if to.authority in hosts else None


def _listed(values: Iterable[bytes]) -> frozenset[str]:
    """The names in ``Connection`` headers, which concern that connection only."""
    return frozenset(name.strip().lower() for value in values for name in value.decode("latin-1").split(","))


_WORD = re.compile(r"[A-Za-z][A-Za-z_.-]{0,31}|v[0-9]{1,3}(\.[0-9]{1,3})?", re.ASCII)
_MAX_PARTS, _MAX_TEMPLATE = 12, 200


def template(path: str) -> str:
    """The path without its query, with ``{id}`` for each part that is not a plain word: for a log that people read.

    A part with digits, escapes or many characters may name a thing or be a secret.
    """
    parts = path.partition("?")[0].split("/")
    shown = [part if not part or _WORD.fullmatch(part) else "{id}" for part in parts[: _MAX_PARTS + 1]]
    if len(parts) > _MAX_PARTS + 1:
        shown.append("…")
    whole = "/".join(shown)
    return whole if len(whole) <= _MAX_TEMPLATE else whole[: _MAX_TEMPLATE - 1] + "…"
