"""Authlib's authorization server on the store. The OpenID provider and Acme Drive both use it."""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

from authlib.common.security import generate_token
from authlib.integrations.flask_oauth2.authorization_server import AuthorizationServer
from authlib.integrations.flask_oauth2.resource_protector import ResourceProtector
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidRequestError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6750 import BearerTokenGenerator, BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Response

from sandbox.store import Client, Code, Store, Token, User

METHODS = ["client_secret_basic", "client_secret_post"]


class Issuer(IssuerParameter):
    """``iss`` in every authorization response, refusals included (RFC 9207)."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def get_issuer(self) -> str:
        return self.issuer


class Server(AuthorizationServer):
    def __init__(self, client: Client, issuer: str, token_seconds: int) -> None:
        self.store = Store(client)
        super().__init__(None, self.store.client, self.store.save_token)
        self.scopes_supported = client.scopes
        self.register_token_generator("default", BearerTokenGenerator(_random, _random, token_seconds))
        self.issuer = Issuer(issuer)
        self.register_extension(self.issuer)

    def answer(self, grant: Any, user: User | None) -> Response:
        """Back to the client, with a code for ``user`` or with access_denied."""
        response: Response = self.create_authorization_response(grant_user=user, grant=grant)
        return response

    def refuse(self, error: OAuth2Error) -> Response:
        """The answer to an authorization request that is not shown to the user at all."""
        response: Response = self.handle_error_response(None, error)
        self.issuer.add_issuer_parameter(self, response)
        return response


class S256(CodeChallenge):
    """PKCE, required and never ``plain`` (RFC 7636, RFC 9700 section 2.1.1)."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("A code_challenge with code_challenge_method S256 is needed")
        super().validate_code_challenge(grant, redirect_uri)


class CodeGrant(AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code: str, request: Any) -> None:
        asked = request.payload.data
        kept = Code(
            code=code,
            client_id=request.client.client_id,
            redirect_uri=request.payload.redirect_uri,
            scope=request.scope,
            user=request.user,
            nonce=asked.get("nonce"),
            code_challenge=asked["code_challenge"],
        )
        self.server.store.keep_code(kept)

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        taken: Code | None = self.server.store.take_code(code, client)
        return taken

    def delete_authorization_code(self, authorization_code: Code) -> None:
        """Do nothing: it was used up when it was taken, and is kept to notice a second use."""

    def authenticate_user(self, authorization_code: Code) -> User:
        return authorization_code.user


class RotatingRefreshGrant(RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
        token: Token | None = self.server.store.by_refresh_token(refresh_token)
        return token

    def authenticate_user(self, refresh_token: Token) -> User:
        """The last step before a new token is made. Of two concurrent requests, only one passes."""
        if not self.server.store.spend_refresh_token(refresh_token):
            raise InvalidGrantError("The refresh token was used before or is revoked")
        return refresh_token.user

    def revoke_old_credential(self, refresh_token: Token) -> None:
        """Do nothing: the refresh token is used up, and its access token is valid until it expires."""


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = METHODS

    def query_token(self, token_string: str, token_type_hint: str | None) -> Token | None:
        store: Store = self.server.store
        return store.by_refresh_token(token_string) or store.by_access_token(token_string)

    def revoke_token(self, token: Token, request: Any) -> None:
        self.server.store.revoke(token)


class Bearer(BearerTokenValidator):
    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def authenticate_token(self, token_string: str) -> Token | None:
        return self.store.by_access_token(token_string)


def protector(store: Store) -> ResourceProtector:
    """Protects resources: ``with protector.acquire(scope) as token``."""
    bearer = ResourceProtector()
    bearer.register_token_validator(Bearer(store))
    return bearer


def _random(**_: Any) -> str:
    return str(generate_token(42))
