"""Acme Drive, an OAuth provider with an API under /acme, for users to connect."""

# mypy: allow-untyped-calls
from __future__ import annotations

import time
from typing import Any

from authlib.oauth2 import OAuth2Error
from flask import Blueprint, Response, abort, redirect, render_template, request, session
from werkzeug import Response as AnyResponse

from sandbox.grants import METHODS, S256, CodeGrant, Revocation, RotatingRefreshGrant, Server, protector
from sandbox.settings import ACME_SCOPES, USERS, Settings
from sandbox.store import User

FILES = {
    "alice": [("Travel plan.pdf", 182_340), ("Invoices 2026.xlsx", 48_128), ("Cat.jpg", 911_204)],
    "bob": [("Thesis, final.docx", 301_556), ("Thesis, really final.docx", 302_091)],
}


class AcmeDrive:
    def __init__(self, settings: Settings) -> None:
        self.issuer = f"{settings.root}/acme"
        self.server = Server(settings.acme_client(), self.issuer, settings.token_seconds)
        self.server.register_grant(CodeGrant, [S256()])
        self.server.register_grant(RotatingRefreshGrant)
        self.server.register_endpoint(Revocation)
        self.bearer = protector(self.server.store)

    def blueprint(self) -> Blueprint:
        pages = Blueprint("acme", __name__)
        pages.get("/.well-known/oauth-authorization-server/acme")(self.discovery)
        pages.get("/acme/authorize")(self.authorize)
        pages.post("/acme/authorize")(self.decide)
        pages.post("/acme/token")(self.token)
        pages.post("/acme/revoke")(self.revoke)
        pages.get("/acme/userinfo")(self.userinfo)
        pages.get("/acme/api/files")(self.files)
        return pages

    def discovery(self) -> dict[str, Any]:
        return metadata(self.issuer)

    def authorize(self) -> Response | str:
        """The consent page; two sign-in buttons for a user who is not signed in here."""
        user = signed_in()
        try:
            grant = self.server.get_consent_grant(end_user=user)
        except OAuth2Error as error:
            return self.server.refuse(error)
        if user is None:
            return render_template("sign_in.html", users=USERS, where="Acme Drive", client=grant.client.name)
        scopes = {scope: ACME_SCOPES[scope] for scope in grant.request.scope.split()}
        return render_template("consent.html", client=grant.client.name, name=USERS[user.sub], scopes=scopes)

    def decide(self) -> AnyResponse:
        """Handle a button of the sign-in page or the consent page."""
        decision = request.form.get("decision")
        if decision is None:
            return sign_in_or_switch()
        user = signed_in()
        if user is None or decision not in ("allow", "deny"):
            abort(400, "Sign in at Acme Drive first.")
        try:
            grant = self.server.get_consent_grant(end_user=user)
        except OAuth2Error as error:
            return self.server.refuse(error)
        return self.server.answer(grant, user if decision == "allow" else None)

    def token(self) -> Response:
        answer: Response = self.server.create_token_response()
        return answer

    def revoke(self) -> Response:
        answer: Response = self.server.create_endpoint_response(Revocation.ENDPOINT_NAME)
        return answer

    def userinfo(self) -> dict[str, str]:
        with self.bearer.acquire() as token:
            sub = token.user.sub
        return {"sub": f"acme-{sub}", "id": f"acme-{sub}", "label": f"{USERS[sub]}'s drive", "name": USERS[sub]}

    def files(self) -> dict[str, Any]:
        with self.bearer.acquire("files.read") as token:
            return {"files": [{"name": name, "size": size} for name, size in FILES[token.user.sub]]}


def metadata(issuer: str) -> dict[str, Any]:
    """Authorization server metadata (RFC 8414 section 2)."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "revocation_endpoint": f"{issuer}/revoke",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "scopes_supported": list(ACME_SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": METHODS,
        "revocation_endpoint_auth_methods_supported": METHODS,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def signed_in() -> User | None:
    kept = session.get("acme")
    return User(**kept) if kept else None


def sign_in_or_switch() -> AnyResponse:
    """Sign in as the button says, or out if it is ``switch``, and show the same page again."""
    sub = request.form.get("user")
    session.pop("acme", None)
    if sub in USERS:
        session["acme"] = {"sub": sub, "auth_time": int(time.time())}
    return redirect(request.full_path, 303)
