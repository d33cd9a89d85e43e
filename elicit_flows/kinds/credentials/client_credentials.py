"""An OAuth client of the person's own: they type its id and secret, and agents get only its access tokens (RFC 6749,
section 4.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta

from elicit_flows import oauth
from elicit_flows.domain.values import Grant, Json, Secret
from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.credentials.config import TokenRequest
from elicit_flows.lib import clock
from elicit_flows.lib.sentences import field_text

ID, SECRET = "client_id", "client_secret"
AUTHS = ("client_secret_basic", "client_secret_post")
FIELDS = [
    fields.complete(
        {
            "name": ID,
            "label": field_text("Client ID"),
            "secret": False,
            "help": field_text("It identifies the application that you created."),
        },
        fields.OPERATORS,
    ),
    fields.complete(
        {
            "name": SECRET,
            "label": field_text("Client secret"),
            "help": field_text("It is often shown only once, when it is created."),
        },
        fields.OPERATORS,
    ),
]
_VSCHAR = re.compile(r"[ -~]*")  # RFC 6749, appendix A.1 and A.2


def faults(values: Json) -> Iterator[tuple[str, str]]:
    """Contradictions between the values of such a provider: (key, message)."""
    if not values["token_url"]:
        for key in ("scopes", "resources", "token_auth", "revocation_url"):
            if values[key] and values[key] != AUTHS[0]:
                yield key, "applies to tokens only; leave it out, or set token_url"
        return
    named = {field["name"]: field for field in values["fields"]}
    if sorted(named) != [ID, SECRET]:
        yield (
            "fields",
            f"must be {ID} and {SECRET} and no others when token_url is set; leave them out to have them made",
        )
    elif not named[SECRET]["secret"]:
        yield "fields", f"shows the {SECRET} while it is typed; make it secret"
    if values["verify"]:
        yield "verify", "cannot be combined with token_url, because fetching a token is the check; leave one out"
    if values["token_auth"] not in AUTHS:
        yield "token_auth", f"must be {' or '.join(AUTHS)} when people type the client"


def unfit(typed: str) -> bool:
    """Whether this cannot be a client's id or secret."""
    return not _VSCHAR.fullmatch(typed)


def ask(request: TokenRequest, named: Mapping[str, Secret]) -> Grant:
    """Fetch a token for the client that was typed, within ten seconds. A refresh token is ignored (section 4.4.3).

    Raises ClientRefused, InvalidGrant, ProviderError and Transient.
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
    """Ask the provider to revoke ``token`` (RFC 7009). False if it offers no revocation, or not for such tokens.

    Raises InvalidGrant, ProviderError and Transient.
    """
    if not request.revocation_url:
        return False
    client = _client(request, named)
    return oauth.revoke(request.revocation_url, client, token=token.reveal(), hint="access_token")


def _client(request: TokenRequest, named: Mapping[str, Secret]) -> oauth.Client:
    return oauth.Client(named[ID].reveal(), named[SECRET].reveal(), request.auth, quirks=request.quirks)
