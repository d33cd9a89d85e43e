"""The OAuth client: Authlib's ``OAuth2Client`` on the guarded HTTP client, how it authenticates, and its requests to an
authorization server.

Authlib makes the request. The session sends it: once, to permitted addresses only, within a deadline, and without
following redirects (``elicit_flows.http``).

Each function is one call: it does not retry, and it stores nothing. ``deadline`` is in seconds. All raise ProviderError
(the provider refused, or its answer cannot be used) and Transient (no answer, or a temporary error).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote_plus, urlencode

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc7523 import PrivateKeyJWT

from elicit_flows import http
from elicit_flows.oauth import dpop, responses
from elicit_flows.oauth.errors import ClientRefused, InvalidGrant, ProviderError, Transient
from elicit_flows.oauth.private_key_jwt import IssuerAssertion
from elicit_flows.oauth.quirks import PLAIN, Quirks, adapt_request, register_hooks

DEADLINE = 10.0

FORM = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
_REGISTERED_AUTHS = frozenset({"client_secret_basic", "client_secret_post", "none"})
_OF_THE_CLIENT = frozenset({"invalid_client", "unauthorized_client", "access_denied", "invalid_scope"})
_CODES = _OF_THE_CLIENT | {"invalid_request", "unsupported_grant_type", "invalid_target"}  # of RFC 6749 and RFC 8707

# Parameters of a token request that are removed from the provider's error messages.
_SECRETS = ("refresh_token", "code", "code_verifier", "device_code", "token", "subject_token", "assertion")

Form = Mapping[str, str | list[str]]  # a list repeats the parameter


@dataclass(frozen=True)
class Client:
    """This service as a client of one authorization server.

    ``auth`` is client_secret_basic, client_secret_post, private_key_jwt or none. For private_key_jwt, ``secret`` is the
    private key (PEM or JWK), and ``issuer`` is required, because it is the assertion's audience. With ``dpop_key``,
    tokens are bound to that key (RFC 9449), and other tokens are not accepted.
    """

    client_id: str
    secret: str | None = field(default=None, repr=False)
    auth: str = "client_secret_basic"
    issuer: str | None = None
    quirks: Quirks = PLAIN
    dpop_key: str | None = field(default=None, repr=False)


def add_credentials(
    client: Client, method: str, uri: str, headers: dict[str, str], body: str
) -> tuple[str, dict[str, str], bytes]:
    """A form with the client's credentials, as this provider wants them. Raises ProviderError if they cannot
    be made.
    """
    names: tuple[str, str | None] = (client.client_id, client.secret)
    proof: str | PrivateKeyJWT = "none" if client.secret is None else client.auth
    if proof == "client_secret_basic":
        # Both parts must be form-encoded first (RFC 6749, section 2.3.1), which Authlib does not do.
        names = (quote_plus(client.client_id), quote_plus(client.secret or ""))
    else:
        # Authlib adds client_id for some methods, and some forms have it already. It may occur only once.
        others = [pair for pair in parse_qsl(body, keep_blank_values=True) if pair[0] != "client_id"]
        if client.auth == "private_key_jwt":
            proof = IssuerAssertion(client.issuer)
            others.append(("client_id", client.client_id))
        body = urlencode(others)
    uri, headers, body = ClientAuth(*names, proof).prepare(method, uri, headers, body)
    return uri, *adapt_request(headers, body, client.quirks)


@dataclass(frozen=True)
class Answer(http.Reply):
    """A reply with the names that Authlib reads."""

    @property
    def status_code(self) -> int:
        return self.status

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Signer(Protocol):
    """Adds the client's credentials to a request: Authlib's ``ClientAuth``, of OAuth 1.0a or 2.0."""

    def prepare(self, method: str, uri: str, headers: dict[str, str], body: Any) -> tuple[str, dict[str, str], Any]: ...


@dataclass(eq=False, repr=False)
class Session:
    """Sends requests for one call to a provider.

    ``deadline``: seconds for the whole call. ``extra``: parameters that replace or join those of a form; Authlib holds
    a form in a dict of single values, so a parameter that is repeated (``resource``) can only be given here.
    ``dpop_key``: each request carries a proof of this key (RFC 9449), for the access token whose hash is ``ath``.
    ``secrets``: texts to remove from error answers, besides the tokens and codes that were sent.

    Raises ProviderError (the address is not permitted, nothing was sent) and Transient (there is no usable answer).
    """

    deadline: float
    extra: Form = field(default_factory=dict, kw_only=True)
    dpop_key: str | None = field(default=None, kw_only=True)
    ath: str | None = field(default=None, kw_only=True)
    secrets: Sequence[str | None] = field(default=(), kw_only=True)

    def post(
        self, url: str, data: Form | bytes = b"", headers: Mapping[str, str] | None = None, auth: Signer | None = None
    ) -> Answer:
        return self.request("POST", url, data, headers, auth)

    def request(
        self,
        method: str,
        url: str,
        data: Form | bytes = b"",
        headers: Mapping[str, str] | None = None,
        auth: Signer | None = None,
    ) -> Answer:
        """Sends a form (a mapping) or a body (bytes), signed by ``auth``."""
        form = {} if isinstance(data, bytes) else {**data, **self.extra}
        body = data if isinstance(data, bytes) else urlencode(form, doseq=True)
        started, nonce = time.monotonic(), None
        answer = self._send(method, url, body, headers or {}, auth, self.deadline, None)
        if self.dpop_key:
            nonce = dpop.nonce_wanted(answer)
        left = self.deadline - (time.monotonic() - started)
        if nonce and left > 0:
            # The server asks for the same request with its nonce in the proof (RFC 9449, section 8). It is signed
            # again, because an assertion is good for one request.
            answer = self._send(method, url, body, headers or {}, auth, left, nonce)
        # An error is shown and logged.
        return answer if answer.status < 400 else without_echoes(answer, [*self.secrets, *map(form.get, _SECRETS)])

    def _send(
        self,
        method: str,
        url: str,
        body: str | bytes,
        given: Mapping[str, str],
        auth: Signer | None,
        deadline: float,
        nonce: str | None,
    ) -> Answer:
        # Authlib's signers write into the headers they are given, and fetch_token gives a dict of the whole process.
        headers = dict(given)
        if self.dpop_key:
            headers["dpop"] = dpop.proof(self.dpop_key, method, url, nonce=nonce, ath=self.ath)
        if auth:
            url, headers, body = auth.prepare(method, url, headers, body)
        sent = body.encode() if isinstance(body, str) else body
        try:
            reply = http.send(method, url, headers=headers, body=sent, deadline=deadline)
        except http.Refused as refusal:
            raise ProviderError("not_allowed", f"The provider's endpoint is refused: {refusal}") from None
        except http.Unreachable as failure:
            raise Transient("The provider does not answer.", sent=failure.sent) from None
        return Answer(reply.status, reply.headers, reply.body)


def without_echoes(answer: Answer, sent: Iterable[object]) -> Answer:
    """``answer`` without the secrets that were ``sent``."""
    body = answer.body
    for secret in sent:
        if isinstance(secret, str) and len(secret) >= 4:
            # As it is, as it was sent in a form, and in both ways in which JSON may write it.
            in_json = [json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)]
            for written in (secret, quote_plus(secret), *in_json):
                body = body.replace(written.encode(), b"***")
    return replace(answer, body=body)


@dataclass(frozen=True)
class Registered:
    """Our registration. ``auth`` is the server's choice, which may differ from what we asked for."""

    client_id: str
    secret: str | None = field(repr=False)
    auth: str


class ProviderClient(OAuth2Client):
    """Authlib's client for one call: on the guarded session, with the provider's quirks as its compliance hooks.

    It reads answers itself (``responses``), because Authlib accepts any JSON object without ``error`` as tokens.
    The tokens of a token request are in ``tokens``. With ``bound``, requests carry a proof of the client's DPoP key,
    and only tokens of that type are accepted. ``extra`` and ``ath`` are as in Session; ``resources`` are the audience
    of the tokens (RFC 8707). A provider's own parameters are given in ``extra``, because Authlib could take one that is
    passed to it for an argument of its own.
    """

    tokens: responses.Tokens

    def __init__(
        self,
        client: Client,
        deadline: float,
        *,
        extra: Form | None = None,
        resources: Iterable[str] = (),
        ath: str | None = None,
        bound: bool = False,
    ) -> None:
        named = list(resources)
        extra = {**(extra or {}), **({"resource": named} if named else {})}
        self.dpop_key = client.dpop_key if bound else None
        super().__init__(  # type: ignore[no-untyped-call]
            Session(deadline, extra=extra, dpop_key=self.dpop_key, ath=ath, secrets=[client.secret]),
            client.client_id,
            token_endpoint_auth_method=client.auth,
            revocation_endpoint_auth_method=client.auth,
        )
        self.register_client_auth_method((client.auth, lambda _, *request: add_credentials(client, *request)))
        register_hooks(self, client.quirks, scheme="DPoP" if self.dpop_key else client.quirks.userinfo_scheme)

    def parse_response_token(self, resp: Answer) -> dict[str, str | None]:
        """Raises InvalidGrant, ProviderError and Transient."""
        self.tokens = responses.read_tokens(resp, bound=bool(self.dpop_key))
        return {"refresh_token": self.tokens.refresh_token}  # Authlib looks whether there is one

    def submit(self, endpoint: str, form: Form) -> dict[str, Any]:
        """Send a form for which Authlib has no method, and return the JSON object of the answer, or {}."""
        auth = self.client_auth(self.token_endpoint_auth_method)
        return responses.checked(self.session.post(endpoint, form, FORM, auth))


def redeem(
    endpoint: str,
    client: Client,
    *,
    code: str,
    redirect_uri: str,
    verifier: str | None,
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> responses.Tokens:
    """Get tokens for an authorization code (RFC 6749, section 4.1.3). Raises InvalidGrant, ProviderError and Transient.

    ``resources``: the audience of the access token (RFC 8707). A code can be used once, so after ``Transient`` with
    ``sent`` the caller must start again from the browser.
    """
    call = ProviderClient(client, deadline, extra=client.quirks.token_params, resources=resources, bound=True)
    call.fetch_token(
        endpoint,
        grant_type="authorization_code",
        code=code,
        redirect_uri=redirect_uri,
        code_verifier=verifier,
        headers=FORM,
    )
    return call.tokens


def refresh(
    endpoint: str,
    client: Client,
    *,
    refresh_token: str,
    scopes: Iterable[str] = (),
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> responses.Tokens:
    """Get new tokens (RFC 6749, section 6). Empty ``scopes`` asks for those granted before. Raises like ``redeem``."""
    call = ProviderClient(client, deadline, resources=resources, bound=True)
    call.refresh_token(endpoint, refresh_token=refresh_token, scope=" ".join(scopes), headers=FORM)
    return call.tokens


def client_credentials(
    endpoint: str,
    client: Client,
    *,
    scopes: Iterable[str] = (),
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> responses.Tokens:
    """Get a token for the client itself (RFC 6749, section 4.4). Raises ClientRefused, and otherwise like
    ``redeem``.
    """
    call = ProviderClient(client, deadline, extra=client.quirks.token_params, resources=resources)
    scope = client.quirks.scope_separator.join(scopes)
    try:
        call.fetch_token(endpoint, grant_type="client_credentials", scope=scope, headers=FORM)
    except ProviderError as error:
        raise refused_client(error) from None
    return call.tokens


def refused_client(error: ProviderError) -> ProviderError:
    """``error``, or ClientRefused if it means that the provider does not accept what was typed."""
    code = error.code
    # Not every provider uses the error codes of RFC 6749, section 5.2, for a client. All use the statuses.
    if error.status == 401:
        code = "invalid_client"
    elif error.status in (400, 403) and code not in _CODES:
        code = "access_denied"
    if code not in _OF_THE_CLIENT:
        return error
    return ClientRefused(code, f"The provider does not accept this client ({code}).", status=error.status)


def revoke(endpoint: str, client: Client, *, token: str, hint: str, deadline: float = DEADLINE) -> bool:
    """Revoke ``token`` at the provider (RFC 7009). False if the provider cannot revoke such tokens.

    ``hint`` is access_token or refresh_token. A token that has ended already counts as revoked. By section 2.2 that is
    no error, but some providers, such as Google, answer invalid_token.
    """
    call = ProviderClient(client, deadline)
    answer = call.revoke_token(endpoint, token=token, token_type_hint=hint, headers={"accept": "application/json"})
    try:
        responses.checked(answer)
    except InvalidGrant:
        return True
    except ProviderError as error:
        if error.code not in ("unsupported_token_type", "invalid_token"):
            raise
        return error.code == "invalid_token"
    return True


def introspect(endpoint: str, client: Client, *, token: str, deadline: float = DEADLINE) -> dict[str, Any]:
    """Ask the server about an access token (RFC 7662, section 2.2)."""
    call = ProviderClient(client, deadline)
    headers = {"accept": "application/json"}
    answer = call.introspect_token(endpoint, token=token, token_type_hint="access_token", headers=headers)
    return responses.checked(answer, required=True)


def userinfo(endpoint: str, client: Client, *, access_token: str, deadline: float = 5.0) -> dict[str, Any]:
    """Ask the provider about the account (OpenID Connect Core, section 5.3)."""
    quirks = client.quirks
    answer = _with_token(quirks.userinfo_method, endpoint, client, quirks.userinfo_body, access_token, deadline)
    return responses.checked(answer, required=True, any_text=True)  # names may contain any characters


def fetch(endpoint: str, client: Client, *, access_token: str, deadline: float = 5.0) -> Any:
    """The JSON that the provider's API answers to a GET with the token: an object or a list. None if it is no JSON."""
    answer = _with_token("GET", endpoint, client, "", access_token, deadline)
    responses.checked(answer, any_text=True)
    return responses.any_json(answer)


def _with_token(method: str, url: str, client: Client, content: str, access_token: str, deadline: float) -> Answer:
    ath = dpop.access_token_hash(access_token) if client.dpop_key else None
    call = ProviderClient(client, deadline, ath=ath, bound=True)
    call.token = {"access_token": access_token, "token_type": "bearer"}
    url, headers, body = call.token_auth.prepare(url, {"accept": "application/json"}, content.encode())
    session: Session = call.session
    return session.request(method, url, body, headers)


def register(endpoint: str, metadata: dict[str, Any], *, deadline: float = DEADLINE) -> Registered:
    """Register a client with this ``metadata`` (RFC 7591, section 2). Each call makes a new one."""
    headers = {"content-type": "application/json", "accept": "application/json"}
    answer = Session(deadline).post(endpoint, json.dumps(metadata).encode(), headers)
    body = responses.checked(answer)
    client_id, secret = body.get("client_id"), body.get("client_secret")
    auth = body.get("token_endpoint_auth_method", metadata["token_endpoint_auth_method"])
    if not _is_text(client_id, 500) or not (secret is None or _is_text(secret, 16384)) or auth not in _REGISTERED_AUTHS:
        raise responses.unusable()
    if auth != "none" and secret is None:
        raise ProviderError("bad_response", "The provider requires a client secret, but issued none.")
    return Registered(str(client_id), None if auth == "none" else secret, auth)


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()
