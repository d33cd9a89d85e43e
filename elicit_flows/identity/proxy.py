"""A proxy in front of this service lets people in, and says with every request who it is, signed (for example Google's
Identity-Aware Proxy or Cloudflare Access). A header that is not signed says nothing: anybody can send one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from elicit_flows import errors
from elicit_flows.identity import keys, rules, signature
from elicit_flows.identity.errors import bad_token
from elicit_flows.identity.openid import SignedIn, label_of
from elicit_flows.lib import oauth
from elicit_flows.values import Claim


@dataclass(frozen=True, slots=True)
class Proxy:
    """As its operator configured it; ``audiences``: the names under which the proxy knows this service."""

    slug: str
    issuer: str
    header: str
    audiences: tuple[str, ...]
    keys: keys.Source


def read(proxy: Proxy, sent: str) -> SignedIn:
    """Whom the header ``sent`` names. Raises SignInRefused, ProviderUnavailable."""
    try:
        signed = signature.verify(sent.removeprefix("Bearer "), proxy.keys)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    basis = rules.Basis(issuer=proxy.issuer, audiences=proxy.audiences, now=time.time())
    complaint = rules.complaint(rules.WORD, signed, basis)
    if complaint:
        raise bad_token(complaint)
    return SignedIn(Claim(signed.claims["iss"], signed.claims["sub"]), None, label_of(signed.claims))
