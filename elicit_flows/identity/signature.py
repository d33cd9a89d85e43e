"""Verifies signatures of tokens about people (RFC 7515, RFC 8725), with our algorithms and the provider's keys only."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwa import JWSAlgModel

from elicit_flows.http import strict_json
from elicit_flows.identity import jwks
from elicit_flows.identity.errors import bad_token

# Only public-key signatures, whatever the metadata lists, each with the hash for at_hash.
ALGORITHMS = {
    **{f"{family}{bits}": f"sha{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)},
    "EdDSA": "sha512",
    "Ed25519": "sha512",
}
MAX_TOKEN = 32768
# Allowed values of ``typ`` (RFC 8725, section 3.11). An ID token may leave it out.
ID_TOKEN = ("jwt",)
VOUCH = ("vouch+jwt",)  # our own type, so that nothing else that a site signs is accepted
ACCESS_TOKEN = ("at+jwt", "application/at+jwt")  # RFC 9068, section 4
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC"}


class _Registry(jws.JWSRegistry):
    """joserfc's registry with our list of algorithms, and without its warning for EdDSA."""

    max_header_length = 8192  # some providers put their certificate chain there

    def get_alg(self, name: str) -> JWSAlgModel:
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


_registry = _Registry(strict_check_header=False)


@dataclass(frozen=True, slots=True)
class Signed:
    """Algorithm and claims of a token that ``verify`` has checked."""

    algorithm: str
    claims: dict[str, Any]


def verify(token: str, source: jwks.Source, types: Collection[str] = ID_TOKEN) -> Signed:
    """The token's claims, if the provider signed it. ``types``: the accepted values of ``typ``, in lower case.

    Raises SignInRefused and DiscoveryError.
    """
    header, claims = parts(token)
    algorithm, kind = header.get("alg"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise bad_token("its algorithm is not allowed")
    if not isinstance(kind, str) or kind.lower() not in types:
        raise bad_token("it is not of the right type")
    if "crit" in header:
        raise bad_token("it asks for extensions that are not known here")
    kid, wanted = header.get("kid"), _KINDS.get(algorithm[:2], "OKP")
    # Try twice: the provider may have changed its keys since we fetched them, even under the same id.
    for published in (jwks.signing_keys, jwks.newer_keys):
        suitable = (
            key
            for key in published(source)
            if key.key_type == wanted and key.alg in (None, algorithm) and (kid is None or key.kid == kid)
        )
        if any(_verifies(token, key) for key in suitable):
            return Signed(algorithm, claims)
    raise bad_token("its signature is not the provider's")


def half_hash(algorithm: str, value: str) -> str:
    """``at_hash`` of ``value``: the left half of its hash, base64url (OpenID Connect Core, 3.1.3.6)."""
    digest = hashlib.new(ALGORITHMS[algorithm], value.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a token whose signature is not checked yet. Raises SignInRefused."""
    pieces = token.split(".")
    if len(pieces) != 3 or len(token) > MAX_TOKEN:
        raise bad_token("it is not a signed token")
    try:
        header, claims = (
            strict_json.loads(base64.b64decode(piece + "=" * (-len(piece) % 4), altchars=b"-_", validate=True))
            for piece in pieces[:2]
        )
    except ValueError:
        raise bad_token("it cannot be read") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise bad_token("it cannot be read")
    return header, claims


def _verifies(token: str, key: jwks.Key) -> bool:
    try:
        jws.deserialize_compact(token, key, registry=_registry)
    except (JoseError, ValueError):
        return False
    return True
