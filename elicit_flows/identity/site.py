"""Sign-in by an agent's own site: a signed assertion for one sign-in that this browser began here.

The browser goes to the site with a single-use ``state``, and the site sends it back with a form that contains the
assertion. It is bound to that state, so nobody can sign another person's browser in (login CSRF), and to the
elicitation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Claim
from elicit_flows.identity import id_token, jwks, jwt_claims, signature
from elicit_flows.identity.errors import bad_token
from elicit_flows.identity.openid import SignedIn, label_of
from elicit_flows.identity.signature import Signed

MAX_AGE = 60  # the greatest age of an assertion, in seconds
MAX_NAME = 255


@dataclass(frozen=True, slots=True)
class Site:
    """A site as its operator configured it. It can sign in only the users of its own issuer."""

    slug: str
    issuer: str
    sign_in_url: str
    keys: jwks.Source
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Vouched:
    """A checked assertion. ``name`` is its own id, for single use; ``elicitation`` is "" if it names none."""

    signed_in: SignedIn
    name: str
    state: str
    elicitation: str


def begin(site: Site, *, state: str, elicitation: str, prompt: str | None = None, ui_locales: str | None = None) -> str:
    """The address to send the browser to. The elicitation's id is no credential, and ``state`` belongs to
    this browser. ``prompt`` and ``ui_locales`` are those of OpenID Connect Core, section 3.1.2.1.
    """
    named = {"elicitation": elicitation, "state": state, "prompt": prompt or "", "ui_locales": ui_locales or ""}
    query = urlencode({name: value for name, value in named.items() if value})
    return f"{site.sign_in_url}{'&' if '?' in site.sign_in_url else '?'}{query}"


def read(site: Site, assertion: str, audience: str) -> Vouched:
    """The assertion, checked. Raises SignInRefused and ProviderUnavailable."""
    try:
        signed = signature.verify(assertion, site.keys, signature.VOUCH)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    now = time.time()
    complaint = jwt_claims.complaint(
        _RULES, signed, jwt_claims.Basis(issuer=site.issuer, audiences=(audience,), now=now)
    )
    if complaint:
        raise bad_token(complaint)
    said = signed.claims
    if site.max_age is not None:
        id_token.check_age(said, site.max_age, now=now, since=now)
    at = jwt_claims.seconds(said.get("auth_time"))
    return Vouched(
        SignedIn(Claim(said["iss"], said["sub"]), None if at is None else int(at), label_of(said)),
        said["jti"],
        said["state"],
        said.get("elicitation", ""),
    )


def _fresh(said: dict[str, Any], token: Signed, expected: jwt_claims.Basis) -> str | None:
    issued = jwt_claims.seconds(said.get("iat"))
    return None if issued is not None and issued + MAX_AGE >= expected.now else "it was made too long ago"


def _named(said: dict[str, Any], token: Signed, expected: jwt_claims.Basis) -> str | None:
    """``jti`` and ``state`` must be texts, and ``elicitation`` too if it is given."""
    texts = (said.get("jti"), said.get("state"), said.get("elicitation", "-"))
    fine = all(isinstance(text, str) and 0 < len(text) <= MAX_NAME for text in texts)
    return None if fine else "it does not say which sign-in it answers, or has no name of its own"


_RULES = (*jwt_claims.WORD, _fresh, _named)
