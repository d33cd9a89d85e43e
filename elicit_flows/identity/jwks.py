"""The identity provider's public keys, only from the address in its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from elicit_flows import http
from elicit_flows.oauth import DiscoveryError
from elicit_flows.oauth.cache import Cache

Key = RSAKey | ECKey | OKPKey
Source = str | tuple[dict[str, Any], ...]  # the address of a key set (RFC 7517), or the public keys themselves

DEADLINE = 5.0
MAX_KEYS = 100
MIN_RSA_BITS = 2048

_TYPES: dict[str, type[Key]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}


def signing_keys(source: Source) -> list[Key]:
    """The keys, at most ten minutes old. Raises DiscoveryError."""
    return _sets.get(source) if isinstance(source, str) else readable(source)


def newer_keys(source: Source) -> list[Key]:
    """The keys, fetched again because none of them fits a token; at most once a minute. Raises DiscoveryError."""
    return _sets.renew(source) if isinstance(source, str) else []


def readable(entries: Sequence[Any]) -> list[Key]:
    """The keys that we can read and may use."""
    return [key for entry in entries if (key := _import(entry)) is not None]


def forget() -> None:
    """Forget all key sets, so that they are fetched again."""
    _sets.clear()


def _fetch(jwks_uri: str) -> list[Key]:
    try:
        reply = http.send("GET", jwks_uri, headers={"accept": "application/json"}, deadline=DEADLINE)
        found = reply.json() if reply.status == 200 else None
    except http.Refused as refusal:
        raise DiscoveryError(f"The address of the identity provider's keys is refused: {refusal}") from None
    except http.Unreachable:
        raise DiscoveryError("The identity provider does not answer.") from None
    except ValueError:
        found = None
    entries = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise DiscoveryError("The identity provider's keys cannot be read.")
    return readable(entries[:MAX_KEYS])


def _import(entry: Any) -> Key | None:
    """The key; None for one that we cannot read or must not use. The others still count (OIDC Core, 10.1)."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    kind = _TYPES.get(str(entry.get("kty")))
    if kind is None or (kind is RSAKey and len(str(entry.get("n"))) * 6 < MIN_RSA_BITS):
        return None
    try:
        return kind.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        return None


_sets = Cache(_fetch)
