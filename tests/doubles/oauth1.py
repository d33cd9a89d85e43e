"""A provider of OAuth 1.0a in a process of its own, made of the server parts of oauthlib.

They were written by others than the client's library, so a signature that both compute alike is one. Its address is
the first line that it prints; it ends with its standard input.
"""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any
from urllib.parse import urlencode

from oauthlib.oauth1 import AccessTokenEndpoint, RequestTokenEndpoint, RequestValidator, ResourceEndpoint

from tests.doubles.server import Request, Response, Route, Server, json_response, redirect

CLIENT, SECRET = "consumer/1", "s+%&é cret"
ODD = "%2B +&=%25"  # in every token: what has to be encoded once, and no more often


class Memory(RequestValidator):
    """What the provider keeps. ``public_key`` is that of the client, for RSA-SHA1."""

    enforce_ssl = False
    dummy_client = dummy_request_token = dummy_access_token = "nobody"

    def __init__(self, public_key: str) -> None:
        super().__init__()
        self.public_key = public_key
        self.temporary: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, str] = {}
        self.nonces: set[str] = set()

    def _fine(self, *given: Any, **named: Any) -> bool:
        return True

    check_client_key = check_request_token = check_access_token = check_nonce = check_verifier = check_realms = _fine
    validate_requested_realms = validate_realms = verify_request_token = verify_realms = _fine

    def validate_client_key(self, client_key: str, request: Any) -> bool:
        return client_key == CLIENT

    def validate_request_token(self, client_key: str, token: str, request: Any) -> bool:
        return token in self.temporary

    def validate_access_token(self, client_key: str, token: str, request: Any) -> bool:
        return token in self.tokens

    def validate_redirect_uri(self, client_key: str, redirect_uri: str, request: Any) -> bool:
        return redirect_uri.startswith(("https://", "http://127.0.0.1", "http://localhost"))

    def validate_verifier(self, client_key: str, token: str, verifier: str, request: Any) -> bool:
        return self.temporary.get(token, {}).get("verifier") == verifier

    def validate_timestamp_and_nonce(
        self, client_key: str, timestamp: str, nonce: str, request: Any, **tokens: Any
    ) -> bool:
        fresh = nonce not in self.nonces
        self.nonces.add(nonce)
        return fresh

    def get_client_secret(self, client_key: str, request: Any) -> str:
        return SECRET

    def get_rsa_key(self, client_key: str, request: Any) -> str:
        return self.public_key

    def get_request_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return self.temporary.get(token, {}).get("secret", "none")

    def get_access_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return self.tokens.get(token, "none")

    def get_default_realms(self, client_key: str, request: Any) -> list[str]:
        return []

    get_realms = get_default_realms

    def save_request_token(self, token: dict[str, str], request: Any) -> None:
        kept = {"secret": token["oauth_token_secret"], "callback": request.redirect_uri}
        self.temporary[token["oauth_token"]] = kept

    def save_access_token(self, token: dict[str, str], request: Any) -> None:
        self.tokens[token["oauth_token"]] = token["oauth_token_secret"]

    def invalidate_request_token(self, client_key: str, request_token: str, request: Any) -> None:
        del self.temporary[request_token]


class OAuth1Provider(Server):
    """The three steps, and an account that a token opens."""

    def __init__(self, public_key: str = "") -> None:
        self.memory = Memory(public_key)
        super().__init__()

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {
            "/request_token": ("request_token", self._requested),
            "/authorize": ("authorize", self._authorize),
            "/access_token": ("access_token", self._exchanged),
            "/account": ("account", self._account),
        }

    def _signed(self, request: Request) -> dict[str, Any]:
        query = f"?{urlencode(request.query)}" if request.query else ""
        named = {"Authorization": request.headers.get("authorization", "")}
        kind = request.headers.get("content-type", "")
        return {
            "uri": f"{self.url}{request.path}{query}",
            "http_method": request.method,
            "body": request.body.decode(),
            "headers": named | ({"Content-Type": kind} if kind else {}),
        }

    def _requested(self, request: Request) -> Response:
        headers, body, status = RequestTokenEndpoint(self.memory, _odd).create_request_token_response(
            **self._signed(request)
        )
        return Response(status, (body or "").encode(), headers)

    def _authorize(self, request: Request) -> Response:
        """The person says yes."""
        kept = self.memory.temporary[request.query["oauth_token"]]
        kept["verifier"] = _odd()
        back = {"oauth_token": request.query["oauth_token"], "oauth_verifier": kept["verifier"]}
        joint = "&" if "?" in kept["callback"] else "?"
        return redirect(f"{kept['callback']}{joint}{urlencode(back)}")

    def _exchanged(self, request: Request) -> Response:
        headers, body, status = AccessTokenEndpoint(self.memory, _odd).create_access_token_response(
            **self._signed(request), credentials={"user_id": "42"}
        )
        return Response(status, (body or "").encode(), headers)

    def _account(self, request: Request) -> Response:
        valid, _ = ResourceEndpoint(self.memory).validate_protected_resource_request(**self._signed(request))
        if not valid:
            return Response(401, b"oauth_problem=signature_invalid", {"Content-Type": "text/plain"})
        return json_response({"id": 42, "method": request.method, "heard": request.body.decode()})


def _odd(*given: Any) -> str:
    return f"{secrets.token_hex(8)}{ODD}".replace(" ", "")


if __name__ == "__main__":
    with OAuth1Provider(json.loads(sys.stdin.readline())) as server:
        print(server.url, flush=True)
        sys.stdin.read()
