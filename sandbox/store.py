"""The state of one authorization server, in memory: client, codes and tokens, with the methods that Authlib calls."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

CODE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class User:
    """Who signed in, and when (seconds since the epoch)."""

    sub: str
    auth_time: int


@dataclass(frozen=True, slots=True)
class Client:
    client_id: str
    client_secret: str = field(repr=False)
    name: str
    redirect_uri: str
    scopes: tuple[str, ...]
    grants: tuple[str, ...]

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> None:
        """None: a request must contain the redirect URI."""

    def get_allowed_scope(self, scope: str | None) -> str:
        """The requested scopes that exist; the first scope if none is requested."""
        return " ".join(one for one in (scope or self.scopes[0]).split() if one in self.scopes)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.client_secret.encode(), client_secret.encode())

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in ("client_secret_basic", "client_secret_post")

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grants


@dataclass(slots=True)
class Code:
    """``family`` identifies everything that results from one consent."""

    code: str
    client_id: str
    redirect_uri: str
    scope: str
    user: User
    nonce: str | None
    code_challenge: str
    code_challenge_method: str = "S256"
    family: str = field(default_factory=secrets.token_hex)
    expires_at: float = field(default_factory=lambda: time.time() + CODE_SECONDS)
    used: bool = False

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return self.user.auth_time

    def get_acr(self) -> None:
        """None: there are no authentication classes here."""

    def get_amr(self) -> None:
        """None: pressing a button is not an authentication method."""


@dataclass(slots=True)
class Token:
    access_token: str
    refresh_token: str | None
    client: Client
    user: User
    scope: str
    expires_at: float
    family: str
    revoked: bool = False
    spent: bool = False

    def check_client(self, client: Client) -> bool:
        return self.client == client

    def get_scope(self) -> str:
        return self.scope

    def is_expired(self) -> bool:
        return time.time() >= self.expires_at

    def is_revoked(self) -> bool:
        return self.revoked


class Store:
    """Codes and refresh tokens work once. A second use ends the whole family (RFC 9700)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._codes: dict[str, Code] = {}
        self._tokens: list[Token] = []

    def client(self, client_id: str) -> Client | None:
        return self._client if client_id == self._client.client_id else None

    def keep_code(self, code: Code) -> None:
        with self._lock:
            self._codes[code.code] = code

    def take_code(self, text: str, client: Client) -> Code | None:
        with self._lock:
            code = self._codes.get(text)
            if code is None or code.client_id != client.client_id:
                return None
            if code.used:
                self._end(code.family)
                return None
            code.used = True
            return code if time.time() < code.expires_at else None

    def save_token(self, answer: dict[str, Any], request: Any) -> None:
        """Authlib's hook: store the token that ``answer`` contains."""
        source: Code | Token = request.authorization_code or request.refresh_token
        token = Token(
            access_token=answer["access_token"],
            refresh_token=answer.get("refresh_token"),
            client=request.client,
            user=request.user,
            scope=answer.get("scope", ""),
            expires_at=time.time() + answer["expires_in"],
            family=source.family,
        )
        with self._lock:
            self._tokens.append(token)

    def by_access_token(self, text: str) -> Token | None:
        with self._lock:
            return next((token for token in self._tokens if token.access_token == text), None)

    def by_refresh_token(self, text: str) -> Token | None:
        with self._lock:
            return next((token for token in self._tokens if token.refresh_token == text), None)

    def spend_refresh_token(self, token: Token) -> bool:
        """True for the first use; False, and the end of the family, for a used or revoked token."""
        with self._lock:
            if token.spent or token.revoked:
                self._end(token.family)
                return False
            token.spent = True
            return True

    def revoke(self, token: Token) -> None:
        with self._lock:
            self._end(token.family)

    def _end(self, family: str) -> None:
        for token in self._tokens:
            token.revoked = token.revoked or token.family == family
