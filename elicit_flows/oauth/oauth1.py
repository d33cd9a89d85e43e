"""The client of OAuth 1.0a (RFC 5849): Authlib's ``OAuth1Client``, on the guarded session.

A provider issues temporary credentials, the person agrees on its page, and what the person comes back with is exchanged
for a token. Every request is signed. Each function is one call; ``deadline`` is in seconds. All raise ProviderError
(the provider refused, or its answer cannot be used) and Transient (no answer, or a temporary error).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl

from authlib.oauth1.client import OAuth1Client
from authlib.oauth1.errors import OAuth1Error
from authlib.oauth1.rfc5849.client_auth import ClientAuth
from authlib.oauth1.rfc5849.util import escape
from authlib.oauth1.rfc5849.wrapper import OAuth1Request

from elicit_flows.oauth import responses
from elicit_flows.oauth.client import Answer, Session
from elicit_flows.oauth.errors import InvalidGrant, ProviderError

DEADLINE = 10.0


@dataclass(frozen=True)
class Client1:
    """This service as a client of one OAuth 1.0a provider. For RSA-SHA1, ``secret`` is the private key as PEM.

    The method PLAINTEXT is not offered, because it sends the secrets themselves.
    """

    client_id: str
    secret: str = field(repr=False)
    signature: Literal["HMAC-SHA1", "RSA-SHA1"] = "HMAC-SHA1"


@dataclass(frozen=True)
class Token1:
    """Temporary credentials or a token. ``said``: the other members of the answer, such as the account's id."""

    token: str = field(repr=False)
    secret: str = field(repr=False)
    said: Mapping[str, str] = field(default_factory=dict, repr=False)


class _Signer(ClientAuth):
    """Authlib's signatures, corrected where they differ from RFC 5849."""

    def get_oauth_signature(self, method: str, uri: str, headers: dict[str, str], body: Any) -> str:
        request = OAuth1Request(method, uri, body=body, headers=headers)
        # Authlib decodes the oauth_ parameters twice before signing. A token with a percent sign would be signed
        # as another one.
        request.params = [
            (name, escape(value) if name.startswith("oauth_") else value) for name, value in request.params
        ]
        sign: Callable[[ClientAuth, OAuth1Request], str] = self.SIGNATURE_METHODS[self.signature_method]
        return sign(self, request)

    def prepare(
        self, method: str, uri: str, headers: dict[str, str], body: Any
    ) -> tuple[str, dict[str, str], str | bytes]:
        try:
            uri, headers, signed = super().prepare(method, uri, headers, body)  # type: ignore[no-untyped-call]
        except (OAuth1Error, ValueError, TypeError):
            raise ProviderError("not_allowed", "The request cannot be signed.") from None
        # A body that is not a form is not signed, and Authlib returns it empty.
        return uri, headers, signed or body


class _Client(OAuth1Client):
    """Authlib's client for one call. It reads answers itself, because Authlib's errors contain whole answers."""

    auth_class = _Signer

    def __init__(
        self, client: Client1, deadline: float, token: Token1 | None = None, *, verifier: str = "", callback: str = ""
    ) -> None:
        secrets = [client.secret, token.secret if token else None, verifier]
        by_key = client.signature == "RSA-SHA1"
        super().__init__(  # type: ignore[no-untyped-call]
            _Session(deadline, secrets=secrets),
            client.client_id,
            None if by_key else client.secret,
            token=token.token if token else None,
            token_secret=token.secret if token else None,
            redirect_uri=callback or None,
            rsa_key=client.secret if by_key else None,
            verifier=verifier or None,
            signature_method=client.signature,
        )

    def parse_response_token(self, status_code: int, text: str) -> dict[str, str]:
        """The parameters of a successful answer (RFC 5849, sections 2.1 and 2.3)."""
        try:
            pairs = parse_qsl(text.strip(), keep_blank_values=True, strict_parsing=True)
        except ValueError:
            raise responses.unusable() from None
        said = dict(pairs)
        if len(said) != len(pairs) or not said.get("oauth_token") or "oauth_token_secret" not in said:
            raise responses.unusable()
        return said


class _Session(Session):
    """Raises for an unsuccessful answer before Authlib sees it."""

    def request(self, *given: Any, **named: Any) -> Answer:
        answer = super().request(*given, **named)
        try:
            responses.checked(answer)
        except ProviderError as error:
            # Errors are often a form with the parameter of the Problem Reporting extension.
            problem = dict(parse_qsl(answer.text[:1000])).get("oauth_problem", "")
            code = responses.clean_code(problem) if problem and error.code == "bad_response" else error.code
            text = f"The provider refused the request ({code})." if problem else str(error)
            raise ProviderError(code, text, status=error.status, said=error.said) from None
        return answer


def request_token(endpoint: str, client: Client1, *, callback: str, deadline: float = DEADLINE) -> Token1:
    """Get temporary credentials for one attempt (RFC 5849, section 2.1). ``callback``: where the person comes
    back to.
    """
    said = _Client(client, deadline, callback=callback).fetch_request_token(endpoint)
    if said.get("oauth_callback_confirmed") != "true":
        # Before revision A the callback came from the browser, so an attacker could finish another person's attempt.
        raise ProviderError(
            "not_allowed", "The provider supports only OAuth 1.0 without revision A, which is not safe."
        )
    return _token(said)


def authorization_url(endpoint: str, temporary: Token1) -> str:
    """The address to send the browser to (RFC 5849, section 2.2)."""
    url: str = OAuth1Client(None, "any").create_authorization_url(endpoint, temporary.token)
    return url


def access_token(
    endpoint: str,
    client: Client1,
    temporary: Token1,
    *,
    answered: str,
    verifier: str,
    deadline: float = DEADLINE,
) -> Token1:
    """Get the token for temporary credentials that the person has agreed to (RFC 5849, section 2.3).

    ``answered`` and ``verifier`` are the oauth_token and oauth_verifier that the person came back with. Raises
    InvalidGrant if they belong to another attempt; nothing is sent then.
    """
    if not verifier or not hmac.compare_digest(answered.encode(), temporary.token.encode()):
        raise InvalidGrant("The answer belongs to another attempt.")
    return _token(_Client(client, deadline, temporary, verifier=verifier).fetch_access_token(endpoint))


def send_signed(
    method: str,
    url: str,
    client: Client1,
    token: Token1,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    deadline: float = DEADLINE,
) -> Answer:
    """Send one request on behalf of the account (RFC 5849, section 3), and return its successful answer.

    A ``body`` is signed if its ``Content-Type`` in ``headers`` is that of a form; RFC 5849 signs no other body.
    """
    call = _Client(client, deadline, token)
    answer: Answer = call.session.request(method, url, body, headers, call.auth)
    return answer


def fetch(url: str, client: Client1, token: Token1, *, deadline: float = 5.0) -> Any:
    """The JSON that the provider's API answers to a signed GET: an object or a list. None if it is no JSON."""
    return responses.any_json(
        send_signed("GET", url, client, token, headers={"accept": "application/json"}, deadline=deadline)
    )


def signature(method: str, url: str, client: Client1, token: Token1, *, headers: Mapping[str, str], body: bytes) -> str:
    """The value of the Authorization header for one request that somebody else sends (RFC 5849, section 3.5.1).

    ``headers`` and ``body`` are as in ``send_signed``. Raises ProviderError if it cannot be signed.
    """
    signer = _Client(client, DEADLINE, token).auth
    kinds = [value for name, value in headers.items() if name.lower() == "content-type"]
    _, signed, _ = signer.prepare(method, url, {"Content-Type": kinds[0]} if kinds else {}, body)
    value: str = signed["Authorization"]
    return value


def _token(said: Mapping[str, str]) -> Token1:
    """The secret may be empty (RFC 5849, section 3.4.2); the token may not."""
    token, secret = (
        responses.secret(dict(said), "oauth_token"),
        responses.secret(dict(said), "oauth_token_secret"),
    )
    others = {name: value for name, value in said.items() if not name.startswith("oauth_")}
    return Token1(token or "", secret or "", others)
