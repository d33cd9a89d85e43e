"""Sign-in by a proxy in front of this service, which names the person in a signed header of every request (for example
Google's Identity-Aware Proxy or Cloudflare Access). An unsigned header is ignored: anybody can send one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Claim
from elicit_flows.identity import jwks, jwt_claims, signature
from elicit_flows.identity.errors import bad_token
from elicit_flows.identity.openid import SignedIn, label_of, verified_email


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy as its operator configured it. ``audiences``: the names under which the proxy knows this service."""

    slug: str
    issuer: str
    header: str
    audiences: tuple[str, ...]
    keys: jwks.Source


def read(proxy: Proxy, sent: str) -> SignedIn:
    """The person that the header ``sent`` names. Raises SignInRefused and ProviderUnavailable."""
    try:
        signed = signature.verify(sent.removeprefix("Bearer "), proxy.keys)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    basis = jwt_claims.Basis(issuer=proxy.issuer, audiences=proxy.audiences, now=time.time())
    complaint = jwt_claims.complaint(jwt_claims.WORD, signed, basis)
    if complaint:
        raise bad_token(complaint)
    said = signed.claims
    return SignedIn(Claim(said["iss"], said["sub"]), None, label_of(said), verified_email(said))
