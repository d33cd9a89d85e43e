"""Who wrote the ID token (RFC 7515, RFC 8725): our algorithms, the provider's keys, nothing that the token says."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwa import JWSAlgModel

from elicit_flows.identity import keys
from elicit_flows.identity.errors import bad_token
from elicit_flows.lib.http import strict

# Signatures with public keys only, whatever the metadata lists; each with the hash that at_hash is made with.
ALGORITHMS = {
    **{f"{family}{bits}": f"sha{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)},
    "EdDSA": "sha512",
    "Ed25519": "sha512",
}
MAX_TOKEN = 32768
# What ``typ`` says (RFC 8725, section 3.11). An ID token need not say it.
ID_TOKEN = ("jwt",)
VOUCH = ("vouch+jwt",)  # ours: nothing else that a site signs is one
ACCESS_TOKEN = ("at+jwt", "application/at+jwt")  # RFC 9068, section 4
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC"}


class _Registry(jws.JWSRegistry):
    """joserfc's, with our list in place of its own and without its warning for every EdDSA token."""

    max_header_length = 8192  # some providers put their certificate chain there

    def get_alg(self, name: str) -> JWSAlgModel:
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


_registry = _Registry(strict_check_header=False)


@dataclass(frozen=True, slots=True)
class Signed:
    """Header and claims of a token; verified once ``verify`` has returned it."""

    algorithm: str
    claims: dict[str, Any]


def verify(token: str, source: keys.Source, types: Collection[str] = ID_TOKEN) -> Signed:
    """The claims, when the signature is one of the provider's; ``types`` are those of its header that will do, in
    lower case. Raises SignInRefused, DiscoveryError.
    """
    header, claims = parts(token)
    algorithm = _checked_header(header, types)
    kid = header.get("kid")
    # The second time because the provider may have changed its keys since we read them, even under the same name.
    for published in (keys.signing_keys, keys.newer_keys):
        if any(_verifies(token, key) for key in _candidates(published(source), algorithm, kid)):
            return Signed(algorithm, claims)
    raise bad_token("its signature is not the provider's")


def half_hash(algorithm: str, value: str) -> str:
    """at_hash of ``value``: the left half of its hash, base64url (OpenID Connect Core, 3.1.3.6)."""
    digest = hashlib.new(ALGORITHMS[algorithm], value.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a token whose signature nobody has checked yet. Raises SignInRefused."""
    pieces = token.split(".")
    if len(pieces) != 3 or len(token) > MAX_TOKEN:
        raise bad_token("it is not a signed token")
    try:
        header, claims = (strict.loads(_decoded(piece)) for piece in pieces[:2])
    except ValueError:
        raise bad_token("it cannot be read") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise bad_token("it cannot be read")
    return header, claims


def _decoded(piece: str) -> bytes:
    return base64.b64decode(piece + "=" * (-len(piece) % 4), altchars=b"-_", validate=True)


def _checked_header(header: dict[str, Any], types: Collection[str]) -> str:
    algorithm, kind = header.get("alg"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise bad_token("its algorithm is not allowed")
    if not isinstance(kind, str) or kind.lower() not in types:
        raise bad_token("it is not of the right type")
    if "crit" in header:
        raise bad_token("it asks for extensions that are not known here")
    return algorithm


def _candidates(published: list[keys.Key], algorithm: str, kid: object) -> list[keys.Key]:
    kind = _KINDS.get(algorithm[:2], "OKP")
    suitable = [key for key in published if key.key_type == kind and key.alg in (None, algorithm)]
    return suitable if kid is None else [key for key in suitable if key.kid == kid]


def _verifies(token: str, key: keys.Key) -> bool:
    try:
        jws.deserialize_compact(token, key, registry=_registry)
    except (JoseError, ValueError):
        return False
    return True
