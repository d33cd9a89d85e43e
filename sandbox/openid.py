"""The OpenID provider at the sandbox's root: signs alice and bob in with one button."""

# mypy: allow-untyped-calls
from __future__ import annotations

import time
from typing import Any

from authlib.oauth2 import OAuth2Error
from authlib.oidc.core import OpenIDCode, UserInfo
from authlib.oidc.core.errors import LoginRequiredError
from flask import Blueprint, Response, abort, render_template, request, session
from joserfc.jwk import RSAKey

from sandbox.grants import METHODS, S256, CodeGrant, Server, protector
from sandbox.settings import USERS, Settings
from sandbox.store import User

TOKEN_SECONDS = 3600
KEY_BITS = 2048


class IdToken(OpenIDCode):
    """ID tokens, signed with RS256 by a key that exists as long as the process."""

    def __init__(self, issuer: str, key: RSAKey) -> None:
        super().__init__(require_nonce=False)
        self.issuer = issuer
        self.key = key

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        """False: it is up to the client that a nonce is not used twice."""
        return False

    def resolve_client_private_key(self, client: Any) -> RSAKey:
        return self.key

    def get_encode_header(self, client: Any) -> dict[str, str]:
        return {"alg": "RS256", "kid": str(self.key.kid)}

    def get_client_claims(self, client: Any) -> dict[str, Any]:
        return {"iss": self.issuer, "aud": [client.client_id]}

    def generate_user_info(self, user: User, scope: str) -> UserInfo:
        return UserInfo(sub=user.sub, name=USERS[user.sub])


class OpenIDProvider:
    def __init__(self, settings: Settings) -> None:
        self.issuer = settings.root
        self.key = RSAKey.generate_key(KEY_BITS, {"use": "sig", "alg": "RS256"}, auto_kid=True)
        self.server = Server(settings.openid_client(), self.issuer, TOKEN_SECONDS)
        self.server.register_grant(CodeGrant, [S256(), IdToken(self.issuer, self.key)])
        self.bearer = protector(self.server.store)

    def blueprint(self) -> Blueprint:
        pages = Blueprint("openid", __name__)
        pages.get("/.well-known/openid-configuration")(self.discovery)
        pages.get("/jwks")(self.jwks)
        pages.get("/authorize")(self.authorize)
        pages.post("/authorize")(self.choose)
        pages.post("/token")(self.token)
        pages.route("/userinfo", methods=["GET", "POST"])(self.userinfo)
        return pages

    def discovery(self) -> dict[str, Any]:
        return metadata(self.issuer)

    def jwks(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}

    def authorize(self) -> Response | str:
        """Continue at once for a user who is signed in, unless the client asks for a new sign-in."""
        user = signed_in()
        try:
            grant = self.server.get_consent_grant(end_user=user)
            if grant.prompt or user is None or too_long_ago(user):
                return sign_in_page(grant)
        except OAuth2Error as error:
            return self.server.refuse(error)
        return self.server.answer(grant, user)

    def choose(self) -> Response:
        """Handle a button."""
        sub = request.form.get("user")
        if sub not in USERS:
            abort(400, "There is no such user.")
        user = User(sub, int(time.time()))
        try:
            grant = self.server.get_consent_grant(end_user=user)
        except OAuth2Error as error:
            return self.server.refuse(error)
        session["openid"] = {"sub": user.sub, "auth_time": user.auth_time}
        return self.server.answer(grant, user)

    def token(self) -> Response:
        answer: Response = self.server.create_token_response()
        return answer

    def userinfo(self) -> dict[str, str]:
        with self.bearer.acquire("openid") as token:
            return {"sub": token.user.sub, "name": USERS[token.user.sub]}


def metadata(issuer: str) -> dict[str, Any]:
    """OpenID Connect Discovery 1.0 section 3, with the announcement of RFC 9207."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "jwks_uri": f"{issuer}/jwks",
        "scopes_supported": ["openid", "profile"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "token_endpoint_auth_methods_supported": METHODS,
        "code_challenge_methods_supported": ["S256"],
        "claims_supported": ["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name"],
        "prompt_values_supported": ["none", "login", "select_account"],
        "authorization_response_iss_parameter_supported": True,
    }


def signed_in() -> User | None:
    kept = session.get("openid")
    return User(**kept) if kept else None


def too_long_ago(user: User) -> bool:
    """Whether ``max_age`` (seconds, OpenID Connect Core 3.1.2.1) requires a new sign-in."""
    max_age = request.args.get("max_age", "")
    return max_age.isdecimal() and time.time() - user.auth_time >= int(max_age)


def sign_in_page(grant: Any) -> str:
    """The two buttons; an error to the client if it asked for no interaction."""
    if request.args.get("prompt") == "none":
        raise LoginRequiredError(redirect_uri=grant.redirect_uri, state=grant.request.payload.state)
    return render_template("sign_in.html", users=USERS, where="the sandbox", client=grant.client.name)
