"""An identity provider that vouches for people, and an authorization server that takes its word."""

from __future__ import annotations

import base64
import json
import secrets
import time
from typing import Any

from elicit_flows.oauth.id_jag import ID_JAG
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response


def assertion(issuer: str, audience: str, client_id: str, resource: str | None = None, /, **claims: Any) -> str:
    """An ID-JAG for alice. In ``claims`` a test's values replace the usual ones; None leaves one out."""
    usual = {"iss": issuer, "aud": audience, "client_id": client_id, "sub": "alice", "exp": time.time() + 300}
    said = {**usual, "resource": resource, "typ": "oauth-id-jag+jwt", **claims}
    header = {"alg": "RS256", "typ": said.pop("typ")}
    kept = {name: value for name, value in said.items() if value is not None}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, kept))
    return ".".join([*parts, "c2ln"])


def issued(token: str, **more: Any) -> Response:
    return json_response({"access_token": token, "issued_token_type": ID_JAG, "token_type": "N_A", **more})


def vouches(idp: Provider, client_id: str = "elicit") -> None:
    """From now on ``idp`` vouches for alice to whoever is asked for."""

    def answer(request: Request) -> Response:
        return issued(assertion(idp.issuer, request.form["audience"], client_id, request.form.get("resource")))

    idp.scripted["token"] = answer


def takes_its_word(server: Provider, expires_in: int = 3600) -> None:
    """From now on ``server`` gives tokens for assertions, and refresh tokens that nobody asked for."""

    def answer(request: Request) -> Response:
        assert request.form["grant_type"].endswith(":jwt-bearer"), request.form
        tokens = {name: f"{name}-{secrets.token_hex(6)}" for name in ("access_token", "refresh_token")}
        return json_response({**tokens, "token_type": "Bearer", "expires_in": expires_in})

    server.scripted["token"] = answer
