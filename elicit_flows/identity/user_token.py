"""A user's own token, shown by an agent that acts for them (RFC 8693, section 2.1).

An access token is checked as RFC 9068 says, or by introspection at its identity provider (RFC 7662) if the operator
wants that. An ID token is checked as OpenID Connect says, without the nonce, which only the agent's own site knows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Claim
from elicit_flows.identity import jwt_claims, signature
from elicit_flows.identity.errors import BadToken
from elicit_flows.identity.openid import DEADLINE, OpenIdProvider, client_of
from elicit_flows.identity.signature import Signed

ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
ID: Final = "urn:ietf:params:oauth:token-type:id_token"


@dataclass(frozen=True, slots=True)
class Trusted:
    """An identity provider whose users' tokens are accepted. ``audiences``: the audiences that such a token
    may have.
    """

    op: OpenIdProvider
    audiences: tuple[str, ...]
    introspects: bool


def holder(token: str, sort: str, trusted: Sequence[Trusted]) -> Claim:
    """Whose token it is. ``sort`` is ``ACCESS`` or ``ID``. Raises UserTokenRefused and ProviderUnavailable."""
    if not token.isascii() or not token.isprintable() or len(token) > signature.MAX_TOKEN:
        raise _refused("it is not a token")
    try:
        said = signature.parts(token)[1]  # not checked yet, to find the issuer
    except BadToken:
        said = None  # an opaque token
    if sort == ACCESS and any(one.introspects for one in trusted):
        asked = _to_ask(said, trusted)
        if asked:
            return _introspected(token, asked)
    found = next((one for one in trusted if said and one.op.issuer == said.get("iss")), None)
    if found is None:
        raise _refused("it is from no identity provider of this agent, or cannot be read here")
    types, wanted = (signature.ACCESS_TOKEN, _ACCESS) if sort == ACCESS else (signature.ID_TOKEN, _ID)
    try:
        signed = signature.verify(token, _metadata(found).jwks_uri or "", types)
    except BadToken as bad:
        raise _refused(bad.why) from None
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error), retry_after=5) from None
    return _checked(signed, wanted, found)


def _to_ask(said: dict[str, Any] | None, trusted: Sequence[Trusted]) -> Trusted | None:
    """The provider to introspect the token at: its own issuer, so that it is shown to nobody else.

    An opaque token does not name its issuer, so it is accepted only if there is one provider to ask.
    """
    asking = [one for one in trusted if one.introspects]
    if said is not None:
        return next((one for one in asking if one.op.issuer == said.get("iss")), None)
    if len(asking) > 1:
        raise _refused("it does not say which of the agent's identity providers it is from")
    return asking[0]


def _introspected(token: str, by: Trusted) -> Claim:
    found = _metadata(by)
    if found.introspection_endpoint is None:
        raise errors.ProviderUnavailable("The identity provider's metadata lacks an introspection endpoint.")
    try:
        said = oauth.introspect(found.introspection_endpoint, client_of(by.op, found), token=token, deadline=DEADLINE)
    except oauth.OAuthError as error:
        raise errors.ProviderUnavailable(str(error), retry_after=5) from None
    if said.get("active") is not True:
        raise _refused("it is no longer valid")
    # Some write null, or an empty list, for what they have nothing to say of.
    told = {name: value for name, value in said.items() if value not in (None, [])}
    filled = {"iss": by.op.issuer, "exp": time.time(), "aud": told.get("client_id"), **told}
    return _checked(Signed("", filled), _ASKED, by)


def _metadata(by: Trusted) -> oauth.Metadata:
    try:
        return oauth.discover(by.op.issuer)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error), retry_after=5) from None


def _checked(token: Signed, wanted: Sequence[jwt_claims.Rule], by: Trusted) -> Claim:
    basis = jwt_claims.Basis(issuer=by.op.issuer, audiences=by.audiences, now=time.time())
    complaint = jwt_claims.complaint(wanted, token, basis)
    if complaint:
        raise _refused(complaint)
    return Claim(token.claims["iss"], token.claims["sub"])


def _person(claims: dict[str, Any], token: Signed, expected: jwt_claims.Basis) -> str | None:
    """A client's own token has the client as its subject, which may look like a person's (RFC 9068, section 5)."""
    mine = claims.get("sub") in (claims.get("client_id"), claims.get("azp"))
    return "it speaks for a program and not for a person" if mine else None


def _no_event(claims: dict[str, Any], token: Signed, expected: jwt_claims.Basis) -> str | None:
    """A logout token is signed with the same keys, and may look like an ID token (RFC 8417, section 4.5)."""
    return "it is about an event" if "events" in claims else None


def _bearer(claims: dict[str, Any], token: Signed, expected: jwt_claims.Basis) -> str | None:
    """Introspection also answers for refresh tokens (RFC 7662, section 2.2)."""
    kind = claims.get("token_type", "Bearer")
    fine = isinstance(kind, str) and kind.lower() in {"bearer", "dpop"}
    return None if fine else "it is not an access token"


_EVERY = (jwt_claims.issuer, jwt_claims.expiry, jwt_claims.not_before, jwt_claims.subject, _no_event, _person)
_ACCESS = (*_EVERY, jwt_claims.not_from_the_future, jwt_claims.among_audiences)
_ID = (*_EVERY, jwt_claims.not_from_the_future, jwt_claims.audience)
_ASKED = (*_EVERY, jwt_claims.among_audiences, _bearer)


def _refused(why: str) -> errors.UserTokenRefused:
    return errors.UserTokenRefused(f"The user's token is not accepted: {why}.")
