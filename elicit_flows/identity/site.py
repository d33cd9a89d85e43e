"""An agent's own site vouches for the browser: a signed assertion for one sign-in that this browser began here.

The browser goes to the site with a single-use ``state``, and the site sends it back with a form that has the assertion.
It is bound to that state, so nobody can sign somebody else's browser in (login CSRF), and to the elicitation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from elicit_flows import errors
from elicit_flows.identity import claims, keys, rules, signature
from elicit_flows.identity.errors import bad_token
from elicit_flows.identity.openid import SignedIn, label_of
from elicit_flows.identity.signature import Signed
from elicit_flows.lib import oauth
from elicit_flows.values import Claim

MAX_AGE = 60  # seconds that an assertion may be old
MAX_NAME = 255


@dataclass(frozen=True, slots=True)
class Site:
    """As its operator configured it; it speaks for the users of its own issuer and for nobody else."""

    slug: str
    issuer: str
    sign_in_url: str
    keys: keys.Source
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Vouched:
    """``name`` is the assertion's own, for single use; ``elicitation`` is "" where it names none."""

    signed_in: SignedIn
    name: str
    state: str
    elicitation: str


def begin(site: Site, *, state: str, elicitation: str, prompt: str | None = None) -> str:
    """Where to send the browser. The id of an elicitation is no credential, and ``state`` is this browser's own."""
    named = {"elicitation": elicitation, "state": state, "prompt": prompt or ""}
    query = urlencode({name: value for name, value in named.items() if value})
    return f"{site.sign_in_url}{'&' if '?' in site.sign_in_url else '?'}{query}"


def read(site: Site, assertion: str, audience: str) -> Vouched:
    """Raises SignInRefused, ProviderUnavailable."""
    try:
        signed = signature.verify(assertion, site.keys, signature.VOUCH)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    now = time.time()
    complaint = rules.complaint(_RULES, signed, rules.Basis(issuer=site.issuer, audiences=(audience,), now=now))
    if complaint:
        raise bad_token(complaint)
    said = signed.claims
    if site.max_age is not None:
        claims.check_age(said, site.max_age, now=now, since=now)
    at = rules.seconds(said.get("auth_time"))
    return Vouched(
        SignedIn(Claim(said["iss"], said["sub"]), None if at is None else int(at), label_of(said)),
        said["jti"],
        said["state"],
        said.get("elicitation", ""),
    )


def _fresh(said: dict[str, Any], token: Signed, expected: rules.Basis) -> str | None:
    issued = rules.seconds(said.get("iat"))
    return None if issued is not None and issued + MAX_AGE >= expected.now else "it was made too long ago"


def _named(said: dict[str, Any], token: Signed, expected: rules.Basis) -> str | None:
    """Its own name and the sign-in that it answers are texts; so is the elicitation, where it names one."""
    texts = (said.get("jti"), said.get("state"), said.get("elicitation", "-"))
    fine = all(isinstance(text, str) and 0 < len(text) <= MAX_NAME for text in texts)
    return None if fine else "it does not say which sign-in it answers, or has no name of its own"


_RULES = (*rules.WORD, _fresh, _named)
