"""The back channel: redeem a code, refresh, revoke, ask who it is. Nothing here is tried twice by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

from authlib.oauth2.auth import ClientAuth

from elicit_flows.lib import http
from elicit_flows.lib.oauth import assertion, replies
from elicit_flows.lib.oauth.errors import ProviderError, Transient
from elicit_flows.lib.oauth.quirks import PLAIN, Quirks, bend_request, straighten

DEADLINE = 10.0


@dataclass(frozen=True)
class Client:
    """Who we are to one authorization server.

    ``auth`` is client_secret_basic, client_secret_post, private_key_jwt or none. For private_key_jwt the secret is
    the private key (PEM or JWK) and ``issuer`` is needed: it is the assertion's audience.
    """

    client_id: str
    secret: str | None = field(default=None, repr=False)
    auth: str = "client_secret_basic"
    issuer: str | None = None
    quirks: Quirks = PLAIN


def redeem(
    endpoint: str,
    client: Client,
    *,
    code: str,
    redirect_uri: str,
    verifier: str | None,
    deadline: float = DEADLINE,
) -> replies.Tokens:
    """Tokens for an authorization code (RFC 6749, section 4.1.3). Raises InvalidGrant, ProviderError, Transient.

    A code may be used once, so after ``Transient`` with ``sent`` the caller must start from the browser again.
    """
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    if verifier is not None:
        form["code_verifier"] = verifier
    return _tokens(endpoint, client, form | dict(client.quirks.token_params), deadline)


def refresh(
    endpoint: str, client: Client, *, refresh_token: str, scopes: Iterable[str] = (), deadline: float = DEADLINE
) -> replies.Tokens:
    """New tokens (RFC 6749, section 6); ``scopes`` empty asks for what was granted before. Raises as ``redeem``."""
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    if wanted := " ".join(scopes):
        form["scope"] = wanted
    endpoint = client.quirks.refresh_url or endpoint
    return _tokens(endpoint, client, form | dict(client.quirks.refresh_params), deadline)


def revoke(endpoint: str, client: Client, *, token: str, hint: str, deadline: float = DEADLINE) -> bool:
    """Tells the provider to forget ``token`` (RFC 7009); False when it says that it cannot revoke such a token.

    ``hint`` is access_token or refresh_token. Raises ProviderError, Transient.
    """
    try:
        replies.checked(_post(endpoint, client, {"token": token, "token_type_hint": hint}, deadline))
    except ProviderError as error:
        if error.code == "unsupported_token_type":
            return False
        raise
    return True


def introspect(endpoint: str, client: Client, *, token: str, deadline: float = DEADLINE) -> dict[str, Any]:
    """What the server knows of an access token (RFC 7662, section 2.2). Raises ProviderError, Transient."""
    body = replies.checked(_post(endpoint, client, {"token": token, "token_type_hint": "access_token"}, deadline))
    if body is None:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    return body


def userinfo(
    endpoint: str, *, access_token: str, quirks: Quirks = PLAIN, client_id: str = "", deadline: float = 5.0
) -> dict[str, Any]:
    """What the provider says about the account (OpenID Connect Core, section 5.3). Raises ProviderError, Transient."""
    headers = {"authorization": f"{quirks.userinfo_scheme} {access_token}", "accept": "application/json"}
    headers |= {name: value.replace("{client_id}", client_id) for name, value in quirks.userinfo_headers.items()}
    body = replies.checked(_send(quirks.userinfo_method, endpoint, headers, b"", deadline))
    if body is None:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    return body


def _tokens(endpoint: str, client: Client, form: dict[str, str], deadline: float) -> replies.Tokens:
    return replies.read_tokens(straighten(_post(endpoint, client, form, deadline), client.quirks))


def _post(endpoint: str, client: Client, form: dict[str, str], deadline: float) -> http.Reply:
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if client.auth == "private_key_jwt":
        signed = assertion.sign(client.client_id, client.secret or "", client.issuer)
        form |= {"client_id": client.client_id, "client_assertion_type": assertion.TYPE, "client_assertion": signed}
        return _send("POST", endpoint, headers, urlencode(form).encode(), deadline)
    body = _authenticate(client, headers, urlencode(form))
    return _send("POST", endpoint, *bend_request(headers, body, client.quirks), deadline)


def _authenticate(client: Client, headers: dict[str, str], form: str) -> str:
    """The form with the client's credentials in it or, for client_secret_basic, in ``headers``.

    For the header both parts are form-encoded first (RFC 6749, section 2.3.1), which Authlib leaves out.
    """
    method = "none" if client.secret is None else client.auth
    names = (client.client_id, client.secret or "")
    if method == "client_secret_basic":
        names = (quote_plus(names[0]), quote_plus(names[1]))
    credentials = ClientAuth(*names, method)
    _, _, body = credentials.prepare("POST", "", headers, form)
    return str(body)


def _send(method: str, url: str, headers: dict[str, str], body: bytes, deadline: float) -> http.Reply:
    try:
        return http.send(method, url, headers=headers, body=body, deadline=deadline)
    except http.Refused as refusal:
        raise ProviderError("not_allowed", f"The provider's endpoint is refused: {refusal}") from None
    except http.Unreachable as failure:
        raise Transient("The provider does not answer.", sent=failure.sent) from None
