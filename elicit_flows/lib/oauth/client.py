"""The back channel: redeem a code, refresh, revoke, ask who it is. Nothing here is tried twice by itself."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

from authlib.oauth2.auth import ClientAuth

from elicit_flows.lib import http
from elicit_flows.lib.oauth import assertion, dpop, replies
from elicit_flows.lib.oauth.errors import ClientRefused, ProviderError, Transient
from elicit_flows.lib.oauth.quirks import PLAIN, Quirks, bend_request, straighten

DEADLINE = 10.0

_OF_THE_CLIENT = frozenset({"invalid_client", "unauthorized_client", "access_denied", "invalid_scope"})

Form = Mapping[str, str | list[str]]  # a list: the parameter as often as it has members


@dataclass(frozen=True)
class Client:
    """Who we are to one authorization server.

    ``auth`` is client_secret_basic, client_secret_post, private_key_jwt or none. For private_key_jwt the secret is
    the private key (PEM or JWK) and ``issuer`` is needed: it is the assertion's audience. With ``dpop_key`` tokens
    are bound to that key (RFC 9449), and others are not taken.
    """

    client_id: str
    secret: str | None = field(default=None, repr=False)
    auth: str = "client_secret_basic"
    issuer: str | None = None
    quirks: Quirks = PLAIN
    dpop_key: str | None = field(default=None, repr=False)


def redeem(
    endpoint: str,
    client: Client,
    *,
    code: str,
    redirect_uri: str,
    verifier: str | None,
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> replies.Tokens:
    """Tokens for an authorization code (RFC 6749, section 4.1.3). Raises InvalidGrant, ProviderError, Transient.

    ``resources``: what the access token is for (RFC 8707).

    A code may be used once, so after ``Transient`` with ``sent`` the caller must start from the browser again.
    """
    form: dict[str, str | list[str]] = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    if verifier is not None:
        form["code_verifier"] = verifier
    form |= {**client.quirks.token_params, "resource": list(resources)}
    return tokens(endpoint, client, form, deadline)


def refresh(
    endpoint: str,
    client: Client,
    *,
    refresh_token: str,
    scopes: Iterable[str] = (),
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> replies.Tokens:
    """New tokens (RFC 6749, section 6); ``scopes`` empty asks for what was granted before. Raises as ``redeem``."""
    form: dict[str, str | list[str]] = {"grant_type": "refresh_token", "refresh_token": refresh_token}
    if wanted := " ".join(scopes):
        form["scope"] = wanted
    form |= {**client.quirks.refresh_params, "resource": list(resources)}
    return tokens(client.quirks.refresh_url or endpoint, client, form, deadline)


def client_credentials(
    endpoint: str,
    client: Client,
    *,
    scopes: Iterable[str] = (),
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> replies.Tokens:
    """A token for the client itself (RFC 6749, section 4.4). Raises ClientRefused, and else as ``redeem``."""
    form: dict[str, str | list[str]] = {"grant_type": "client_credentials"}
    if wanted := client.quirks.scope_separator.join(scopes):
        form["scope"] = wanted
    form |= {**client.quirks.token_params, "resource": list(resources)}
    reply = straighten(post(endpoint, client, form, deadline), client.quirks)
    try:
        return replies.read_tokens(reply)
    except ProviderError as error:
        if code := _of_the_client(reply.status, error.code):
            raise ClientRefused(code, f"The provider does not take this client ({code}).") from None
        raise


def _of_the_client(status: int, code: str) -> str:
    """The error code where it is the client that is refused, else "". Not every provider has the words of RFC 6749,
    section 5.2; all of them know the statuses.
    """
    if status == 401:
        return "invalid_client"
    if status in (400, 403) and code in ("bad_response", "unknown_error"):
        return "access_denied"
    return code if code in _OF_THE_CLIENT else ""


def revoke(endpoint: str, client: Client, *, token: str, hint: str, deadline: float = DEADLINE) -> bool:
    """Tells the provider to forget ``token`` (RFC 7009); False when it says that it cannot revoke such a token.

    ``hint`` is access_token or refresh_token. Raises ProviderError, Transient.
    """
    try:
        replies.checked(post(endpoint, client, {"token": token, "token_type_hint": hint}, deadline))
    except ProviderError as error:
        if error.code == "unsupported_token_type":
            return False
        raise
    return True


def introspect(endpoint: str, client: Client, *, token: str, deadline: float = DEADLINE) -> dict[str, Any]:
    """What the server knows of an access token (RFC 7662, section 2.2). Raises ProviderError, Transient."""
    body = replies.checked(post(endpoint, client, {"token": token, "token_type_hint": "access_token"}, deadline))
    if body is None:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    return body


def userinfo(endpoint: str, client: Client, *, access_token: str, deadline: float = 5.0) -> dict[str, Any]:
    """What the provider says about the account (OpenID Connect Core, section 5.3). Raises ProviderError, Transient."""
    reply = _userinfo(endpoint, client, access_token, deadline, None)
    nonce = dpop.nonce_wanted(reply) if client.dpop_key else None
    body = replies.checked(_userinfo(endpoint, client, access_token, deadline, nonce) if nonce else reply)
    if body is None:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    return body


def _userinfo(endpoint: str, client: Client, access_token: str, deadline: float, nonce: str | None) -> http.Reply:
    quirks, key = client.quirks, client.dpop_key
    scheme = "DPoP" if key else quirks.userinfo_scheme
    headers = {"authorization": f"{scheme} {access_token}", "accept": "application/json"}
    headers |= {name: value.replace("{client_id}", client.client_id) for name, value in quirks.userinfo_headers.items()}
    if key:
        ath = dpop.hash_of(access_token)
        headers["dpop"] = dpop.proof(key, quirks.userinfo_method, endpoint, nonce=nonce, ath=ath)
    return _send(quirks.userinfo_method, endpoint, headers, b"", deadline)


def tokens(endpoint: str, client: Client, form: Form, deadline: float) -> replies.Tokens:
    """What a token request brings. Raises InvalidGrant, ProviderError, Transient."""
    reply = post(endpoint, client, form, deadline, client.dpop_key)
    return replies.read_tokens(straighten(reply, client.quirks), bound=bool(client.dpop_key))


def post(endpoint: str, client: Client, form: Form, deadline: float, dpop_key: str | None = None) -> http.Reply:
    """``form``, with our proof of who we are; with ``dpop_key`` that of the key too. Raises ProviderError, Transient.

    A second request, with the nonce that the server asked for, is inside the same deadline (RFC 9449, section 8).
    """
    started = time.monotonic()
    reply = _post(endpoint, client, form, deadline, dpop_key, None)
    nonce = dpop.nonce_wanted(reply) if dpop_key else None
    left = deadline - (time.monotonic() - started)
    return _post(endpoint, client, form, left, dpop_key, nonce) if nonce and left > 0 else reply


def _post(
    endpoint: str, client: Client, form: Form, deadline: float, dpop_key: str | None, nonce: str | None
) -> http.Reply:
    """An assertion is good for one request, so each has its own."""
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if dpop_key:
        headers["dpop"] = dpop.proof(dpop_key, "POST", endpoint, nonce=nonce)
    if client.auth == "private_key_jwt":
        signed = assertion.sign(client.client_id, client.secret or "", client.issuer)
        proof = {"client_id": client.client_id, "client_assertion_type": assertion.TYPE, "client_assertion": signed}
        return _send("POST", endpoint, headers, urlencode({**form, **proof}, doseq=True).encode(), deadline)
    if client.secret is None or client.auth == "client_secret_post":  # these name the client in the form by themselves
        form = {name: value for name, value in form.items() if name != "client_id"}
    body = _authenticate(client, headers, urlencode(form, doseq=True))
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
