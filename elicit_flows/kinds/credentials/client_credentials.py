"""An OAuth client of the person's own: they type its id and secret, and agents get only its access tokens (RFC 6749,
section 4.4).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from elicit_flows import oauth
from elicit_flows.domain.values import Grant, Json, Secret
from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.credentials.config import TokenRequest
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.lib import clock
from elicit_flows.lib.sentences import field_text
from elicit_flows.oauth import described_call

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


def faults(values: Json, needs: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Contradictions between the values of such a provider: (key, message). ``needs``: the fields that the preset's own
    way to tokens needs, if it has one.
    """
    if not values["token_url"]:
        for key in ("scopes", "resources", "token_auth", "revocation_url"):
            if values[key] and values[key] != AUTHS[0]:
                yield key, "applies to tokens only; leave it out, or set token_url"
        return
    named = {field["name"]: field for field in values["fields"]}
    if values["verify"]:
        yield "verify", "cannot be combined with token_url, because fetching a token is the check; leave one out"
    if not needs:
        yield from _client_faults(values, named)
        return
    if missing := sorted(set(needs) - named.keys()):
        yield "fields", f"must have {missing[0]}, which the preset needs to get tokens"
    if values["revocation_url"]:
        yield "revocation_url", "is not called for tokens of this preset; leave it out"


def _client_faults(values: Json, named: Json) -> Iterator[tuple[str, str]]:
    if sorted(named) != [ID, SECRET]:
        yield (
            "fields",
            f"must be {ID} and {SECRET} and no others when token_url is set; leave them out to have them made",
        )
    elif not named[SECRET]["secret"]:
        yield "fields", f"shows the {SECRET} while it is typed; make it secret"
    if values["token_auth"] not in AUTHS:
        yield "token_auth", f"must be {' or '.join(AUTHS)} when people type the client"


def unfit(request: TokenRequest, typed: Mapping[str, str], name: str) -> bool:
    """Whether what was typed into this field cannot be what it asks for."""
    quirks = request.quirks
    if quirks.token_call:
        return False
    if quirks.assertion is None:
        return not _VSCHAR.fullmatch(typed[name])
    if name not in (quirks.assertion.document, *oauth.places_in(quirks.assertion.key)):
        return False
    try:
        oauth.sign_assertion(quirks.assertion, typed, request.scopes)
    except oauth.ProviderError:
        return True
    return False


def ask(request: TokenRequest, named: Mapping[str, Secret]) -> Grant:
    """Fetch a token with what was typed, within ten seconds. A refresh token is ignored (section 4.4.3).

    Raises ClientRefused, InvalidGrant, ProviderError and Transient.
    """
    tokens = _tokens(request, named)
    life = tokens.expires_in
    secrets = connection_metadata.Secrets(tokens.access_token, *(secret.reveal() for secret in named.values()))
    secrets.see(tokens.said)
    return Grant(
        access_token=Secret(tokens.access_token),
        refresh_token=None,
        token_type=tokens.token_type,
        expires_at=None if life is None else clock.now() + timedelta(seconds=life),
        scopes=request.scopes if tokens.scopes is None else tokens.scopes,
        metadata=connection_metadata.taken(request.metadata, connection_metadata.TOKEN, tokens.said, secrets),
    )


def _tokens(request: TokenRequest, named: Mapping[str, Secret]) -> oauth.Tokens:
    """By the preset's own way, if it has one. Whatever was typed, only ``request.url`` is called (threat T172)."""
    quirks, typed = request.quirks, {name: secret.reveal() for name, secret in named.items()}
    try:
        if quirks.token_call:
            answer = described_call.send(replace(quirks.token_call, url=request.url), typed)
            return oauth.read_tokens(oauth.normalize_response(answer, quirks))
        if quirks.assertion:
            return oauth.token_for_assertion(request.url, quirks.assertion, typed, scopes=request.scopes, quirks=quirks)
    except oauth.ProviderError as error:
        raise oauth.refused_client(error) from None
    return oauth.client_credentials(
        request.url, _client(request, named), scopes=request.scopes, resources=request.resources
    )


def revoke(request: TokenRequest, named: Mapping[str, Secret], token: Secret) -> bool:
    """Ask the provider to revoke ``token`` (RFC 7009). False if it offers no revocation, or not for such tokens.

    Raises InvalidGrant, ProviderError and Transient.
    """
    if not request.revocation_url or ID not in named:
        return False
    client = _client(request, named)
    return oauth.revoke(request.revocation_url, client, token=token.reveal(), hint="access_token")


def _client(request: TokenRequest, named: Mapping[str, Secret]) -> oauth.Client:
    return oauth.Client(named[ID].reveal(), named[SECRET].reveal(), request.auth, quirks=request.quirks)
