"""Tokens for an assertion that is signed with a private key that somebody typed (RFC 7523, section 2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from authlib.oauth2.rfc7523 import JWTBearerGrant
from authlib.oauth2.rfc7523.assertion import sign_jwt_bearer_assertion

from elicit_flows.http import strict_json
from elicit_flows.oauth import responses
from elicit_flows.oauth.client import DEADLINE, FORM, Session
from elicit_flows.oauth.errors import ProviderError
from elicit_flows.oauth.private_key_jwt import algorithm_of, load_private_key
from elicit_flows.oauth.quirks import PLAIN, Quirks, normalize_response
from elicit_flows.oauth.ways import Assertion, Values, placed

_PEM = re.compile(r"\s*(-----BEGIN [A-Z ]+-----)(.*?)(-----END [A-Z ]+-----)\s*", re.DOTALL)


def signed(said: Assertion, values: Values, scopes: Iterable[str] = ()) -> str:
    """A new assertion. ``values`` are what was typed. Raises ProviderError if something is missing or no key."""
    known = {**_members(said, values), **values}
    if missing := sorted(said.names - known.keys()):
        raise ProviderError("not_allowed", f"There is no {missing[0]} for this request.")
    pem = placed(said.key, known)
    if found := _PEM.fullmatch(pem.replace("\\n", "\n")):
        # A field of one line has taken out the line breaks.
        text = re.sub(r"\s", "", found[2])
        pem = "\n".join([found[1], *(text[at : at + 64] for at in range(0, len(text), 64)), found[3], ""])
    key = load_private_key(pem)
    kid, scope = placed(said.key_id, known), " ".join(scopes) if said.scope == "claim" else ""
    token: str = sign_jwt_bearer_assertion(
        key,
        issuer=placed(said.issuer, known),
        audience=said.audience,
        subject=placed(said.subject, known) or None,
        expires_in=said.life,
        claims={"scope": scope} if scope else None,
        header={"typ": "JWT", "alg": algorithm_of(key)} | ({"kid": kid} if kid else {}),
    )
    return token


def request_token(
    endpoint: str,
    said: Assertion,
    values: Values,
    *,
    scopes: Iterable[str] = (),
    quirks: Quirks = PLAIN,
    deadline: float = DEADLINE,
) -> responses.Tokens:
    """Get a token for a new assertion. Raises InvalidGrant, ProviderError and Transient."""
    scopes = tuple(scopes)
    form = {**quirks.token_params, "grant_type": JWTBearerGrant.GRANT_TYPE, "assertion": signed(said, values, scopes)}
    if scopes and said.scope == "param":
        form["scope"] = quirks.scope_separator.join(scopes)
    answer = Session(deadline, secrets=[form["assertion"]]).post(endpoint, form, FORM)
    return responses.read_tokens(normalize_response(answer, quirks))


def _members(said: Assertion, values: Values) -> dict[str, str]:
    """The texts in the JSON object that was typed."""
    if not said.document:
        return {}
    try:
        document = strict_json.loads(values.get(said.document, ""))
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ProviderError("not_allowed", "What was typed is no JSON object.")
    return {name: value for name, value in document.items() if isinstance(value, str)}
