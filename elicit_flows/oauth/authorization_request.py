"""The authorization request, in the browser's address or pushed in advance."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qs, urlencode, urlsplit

from authlib.oauth2.client import OAuth2Client

from elicit_flows.oauth import responses
from elicit_flows.oauth.client import Client, ProviderClient

PUSH_DEADLINE = 8.0
_REQUEST_URI = re.compile(r"[\x21-\x7e]{1,1000}")


def new_verifier() -> str:
    """A fresh PKCE code verifier: 64 characters, 384 random bits (RFC 7636, section 4.1)."""
    return secrets.token_urlsafe(48)


def authorization_url(
    endpoint: str,
    *,
    client_id: str,
    redirect_uri: str,
    scopes: Iterable[str],
    state: str,
    verifier: str | None,
    **extra: str | list[str] | None,
) -> str:
    """The address to send the browser to (RFC 6749, section 4.1.1), with PKCE S256 unless ``verifier`` is None.

    ``extra``: further parameters (nonce, prompt, max_age). None is left out, a list repeats the parameter.
    """
    asking = OAuth2Client(
        None, client_id, redirect_uri=redirect_uri, scope=" ".join(scopes), code_challenge_method="S256"
    )
    url: str = asking.create_authorization_url(endpoint, state=state, code_verifier=verifier, **extra)[0]
    return url


def push(endpoint: str, client: Client, url: str, *, deadline: float = PUSH_DEADLINE) -> str:
    """Push the authorization request ``url`` to the provider, so that no browser can read or change it (RFC 9126).

    Returns the address that stands for it, with only our client id and a reference. The whole query of ``url`` is
    pushed, including what the operator wrote there. A request that is pushed twice has two valid references.
    ``deadline`` is in seconds. Raises ProviderError and Transient.
    """
    address = urlsplit(url)
    answer = ProviderClient(client, deadline).submit(endpoint, parse_qs(address.query, keep_blank_values=True))
    reference = answer.get("request_uri")
    if not isinstance(reference, str) or not _REQUEST_URI.fullmatch(reference):
        raise responses.unusable()
    short = urlencode({"client_id": client.client_id, "request_uri": reference})
    return address._replace(query=short).geturl()
