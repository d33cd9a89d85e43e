"""Enterprise-managed authorization: an identity provider vouches for a person to another authorization server, if the
organisation allows it (draft-ietf-oauth-identity-assertion-authz-grant-04; MCP's extension of that name).

The identity provider exchanges what it issued at the sign-in for an ID-JAG (RFC 8693), for which the other server gives
an access token (RFC 7523).
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from dataclasses import dataclass

from elicit_flows.http import strict_json
from elicit_flows.oauth import responses
from elicit_flows.oauth.client import FORM, Client, ProviderClient
from elicit_flows.oauth.errors import OUR_CLIENT, InvalidGrant, NotAllowed, ProviderError

DEADLINE = 5.0
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
REFRESH_TOKEN = "urn:ietf:params:oauth:token-type:refresh_token"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TYPE = "oauth-id-jag+jwt"
# The identity provider refuses us and not the person: the operator has to correct it.
_OURS = (OUR_CLIENT - {"access_denied", "invalid_scope"}) | {"redirect", "bad_response", "not_allowed"}


@dataclass(frozen=True)
class Wanted:
    """What an ID-JAG has to be for. ``issuer``: the identity provider; ``audience``: the issuer of the authorization
    server, and ``client_id`` this service as its client; ``resource``: the identifier of the protected resource, ""
    if it has none; ``subject``: the person.
    """

    issuer: str
    audience: str
    client_id: str
    resource: str
    subject: str


def exchange(
    endpoint: str, client: Client, wanted: Wanted, *, token: str, token_type: str, scopes: Iterable[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """The ID-JAG for what the identity provider issued at the sign-in, and the scopes that it is for.

    ``token_type`` is ID_TOKEN or REFRESH_TOKEN. Takes at most DEADLINE seconds. Raises NotAllowed if the organisation
    does not allow it, ProviderError and Transient.
    """
    asked = tuple(scopes)
    form = {"grant_type": EXCHANGE, "requested_token_type": ID_JAG, "audience": wanted.audience}
    form |= {"subject_token": token, "subject_token_type": token_type}
    form |= {"resource": wanted.resource} if wanted.resource else {}
    form |= {"scope": " ".join(asked)} if asked else {}
    try:
        said = ProviderClient(client, DEADLINE).submit(endpoint, form)
    except InvalidGrant:
        raise NotAllowed("invalid_grant") from None
    except ProviderError as error:
        if error.status is None or error.code in _OURS:
            raise
        raise NotAllowed(error.code) from None
    assertion = responses.secret(said, "access_token")
    if assertion is None or said.get("issued_token_type") != ID_JAG:
        raise responses.unusable()
    _check(assertion, wanted)
    named = responses.scopes(said.get("scope"))
    return assertion, asked if named is None else named


def redeem(
    endpoint: str, client: Client, assertion: str, *, scopes: Iterable[str] = (), resources: Iterable[str] = ()
) -> responses.Tokens:
    """The access token for an ID-JAG (RFC 7523, section 2.1). Takes at most DEADLINE seconds.

    Raises InvalidGrant, ProviderError and Transient.
    """
    call = ProviderClient(client, DEADLINE, extra=client.quirks.token_params, resources=resources)
    call.fetch_token(
        endpoint,
        grant_type=JWT_BEARER,
        assertion=assertion,
        scope=client.quirks.scope_separator.join(scopes),
        headers=FORM,
    )
    return call.tokens


def _check(assertion: str, wanted: Wanted) -> None:
    """Raises ProviderError if the ID-JAG is for somebody or something else. Its signature is for the other server; TLS
    to the token endpoint replaces it here.
    """
    pieces = assertion.split(".")
    try:
        header, claims = (
            strict_json.loads(base64.urlsafe_b64decode(one + "=" * (-len(one) % 4))) for one in pieces[:2]
        )
    except ValueError:
        raise responses.unusable() from None
    if len(pieces) != 3 or not isinstance(header, dict) or not isinstance(claims, dict):
        raise responses.unusable()
    expected = {"iss": wanted.issuer, "aud": wanted.audience, "client_id": wanted.client_id, "sub": wanted.subject}
    if wanted.resource and "resource" in claims:
        expected["resource"] = wanted.resource
    # ``aud`` and ``resource`` may be written as a list of one.
    wrong = [name for name, value in expected.items() if claims.get(name) not in (value, [value])]
    ends = claims.get("exp")
    if not isinstance(ends, int | float) or ends <= time.time():
        wrong.append("exp")
    if str(header.get("typ")).lower() != _TYPE:
        wrong.append("typ")
    if wrong:
        what = f"The identity provider's assertion is not the one that was asked for ({', '.join(wrong)})."
        raise ProviderError("bad_response", what)
