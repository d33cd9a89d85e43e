"""Encrypts credentials so that only the agent can read them: a JWE (RFC 7516) to its public key, made before
storing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from elicit_flows.domain.values import Json, Secret

CONTENT = "A256GCM"
_KEYS: dict[str, tuple[type[ECKey] | type[RSAKey], str, set[str]]] = {
    "EC": (ECKey, "ECDH-ES", {"kty", "crv", "x", "y"}),
    "RSA": (RSAKey, "RSA-OAEP-256", {"kty", "n", "e"}),
}
_BESIDE = {"kid", "use", "alg", "key_ops"}
MIN_RSA_BITS = 2048


def problem(jwk: Any) -> str:
    """Why nothing can be encrypted to this key; "" if it can be used."""
    if not isinstance(jwk, dict) or not isinstance(jwk.get("kty"), str) or jwk["kty"] not in _KEYS:
        return "Give a public JWK (RFC 7517) of type EC with curve P-256, P-384 or P-521, or RSA of 2048 bits or more."
    _, _, needed = _KEYS[jwk["kty"]]
    if not needed <= jwk.keys() <= needed | _BESIDE:
        return f"Give only the public key, with {', '.join(sorted(needed))}."
    if not all(isinstance(jwk[name], str) for name in needed):
        return "This key cannot be read."
    if "n" in needed and len(jwk["n"]) * 6 < MIN_RSA_BITS:
        return f"Give an RSA key of at least {MIN_RSA_BITS} bits."
    try:
        _imported(jwk)
    except (JoseError, ValueError, TypeError, KeyError):
        return "This key cannot be read."
    return ""


def seal(named: Mapping[str, Secret], jwk: Json) -> Secret:
    """The compact JWE of the fields as a JSON object. ``problem(jwk)`` must be ""."""
    _, algorithm, _ = _KEYS[jwk["kty"]]
    header = {"alg": algorithm, "enc": CONTENT} | ({"kid": jwk["kid"]} if "kid" in jwk else {})
    plain = json.dumps({name: secret.reveal() for name, secret in named.items()})
    return Secret(jwe.encrypt_compact(header, plain, _imported(jwk), algorithms=[algorithm, CONTENT]))


def _imported(jwk: Json) -> ECKey | RSAKey:
    kind, _, needed = _KEYS[jwk["kty"]]
    return kind.import_key({name: jwk[name] for name in needed})
