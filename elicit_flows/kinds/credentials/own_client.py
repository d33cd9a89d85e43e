"""A client of the person's own: its id and its secret are typed, and agents get nothing but its access tokens
(RFC 6749, section 4.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta

from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.credentials.config import TokenRequest
from elicit_flows.lib import clock, oauth
from elicit_flows.values import Grant, Json, Secret

ID, SECRET = "client_id", "client_secret"
AUTHS = ("client_secret_basic", "client_secret_post")
FIELDS = [
    fields.complete(
        {"name": ID, "label": "Client ID", "secret": False, "help": "It names the application that you made there."},
        fields.OPERATORS,
    ),
    fields.complete(
        {"name": SECRET, "label": "Client secret", "help": "It is often shown only once, when it is made."},
        fields.OPERATORS,
    ),
]
_VSCHAR = re.compile(r"[ -~]*")  # RFC 6749, appendix A.1 and A.2


def faults(values: Json) -> Iterator[tuple[str, str]]:
    """What the values of such a provider are not together: (key, message)."""
    if not values["token_url"]:
        for key in ("scopes", "resources", "token_auth", "revocation_url"):
            if values[key] and values[key] != AUTHS[0]:
                yield key, "is for tokens; leave it out, or say in token_url where they are asked for"
        return
    named = {field["name"]: field for field in values["fields"]}
    if sorted(named) != [ID, SECRET]:
        yield "fields", f"must be {ID} and {SECRET}, and no others, beside token_url; left out they are made"
    elif not named[SECRET]["secret"]:
        yield "fields", f"shows the {SECRET} while it is typed; make it secret"
    if values["verify"]:
        yield "verify", "cannot stand beside token_url: asking for a token is the check; leave one out"
    if values["token_auth"] not in AUTHS:
        yield "token_auth", f"must be {' or '.join(AUTHS)} for a client that people type"


def unfit(typed: str) -> bool:
    """Whether this can be no client's id and no client's secret."""
    return not _VSCHAR.fullmatch(typed)


def ask(request: TokenRequest, named: Mapping[str, Secret]) -> Grant:
    """A token for the client that was typed. At most ten seconds. A refresh token that comes with it is not wanted
    (section 4.4.3). Raises ClientRefused, InvalidGrant, ProviderError, Transient.
    """
    tokens = oauth.client_credentials(
        request.url, _client(request, named), scopes=request.scopes, resources=request.resources
    )
    life = tokens.expires_in
    return Grant(
        access_token=Secret(tokens.access_token),
        refresh_token=None,
        token_type=tokens.token_type,
        expires_at=None if life is None else clock.now() + timedelta(seconds=life),
        scopes=request.scopes if tokens.scopes is None else tokens.scopes,
    )


def revoke(request: TokenRequest, named: Mapping[str, Secret], token: Secret) -> bool:
    """Asks the provider to forget ``token`` (RFC 7009); False when it offers no revocation, at all or for such tokens.

    Raises InvalidGrant, ProviderError, Transient.
    """
    if not request.revocation_url:
        return False
    client = _client(request, named)
    return oauth.revoke(request.revocation_url, client, token=token.reveal(), hint="access_token")


def _client(request: TokenRequest, named: Mapping[str, Secret]) -> oauth.Client:
    return oauth.Client(named[ID].reveal(), named[SECRET].reveal(), request.auth, quirks=request.quirks)
