"""An agent's own web site, which signs in its users and confirms who they are with a signed form."""

from __future__ import annotations

import html
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from joserfc import jws
from joserfc.jwk import OKPKey

from tests.doubles.server import Request, Response, Route, Server, json_response

SIGNING = OKPKey.generate_key("Ed25519", {"kid": "site"})

PAGE = """<!doctype html><meta name="referrer" content="same-origin"><body data-page="site" data-status="">
<form method="post" action="{action}" data-action="vouch"><input type="hidden" name="assertion" value="{assertion}">
<button>Go on as {sub}</button></form>"""


class Site(Server):
    """``user`` is who is signed in there. What ``claims`` and ``header`` say replaces the usual; None leaves it out.

    Its pages are at ``localhost`` and the service at 127.0.0.1, which are different sites to a browser.
    """

    def __init__(self, slug: str = "shop") -> None:
        self.slug, self.audience, self.service = slug, "", ""
        self.user = {"sub": "alice", "name": "Alice of the shop"}
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.signing = SIGNING
        super().__init__()
        self.issuer = f"http://localhost:{urlsplit(self.url).port}"
        self.jwks_url = f"{self.url}/jwks"

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {
            "/sign-in": ("sign-in", self._sign_in),
            "/jwks": ("jwks", lambda _: json_response({"keys": [SIGNING.as_dict(private=False)]})),
        }

    @property
    def vouch_url(self) -> str:
        return f"{self.service}/login/{self.slug}/vouch"

    def assertion(self, **asked: str) -> str:
        """For a sign-in that came with ``state`` and ``elicitation``."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": self.audience, "iat": now, "exp": now + 60, "jti": secrets.token_hex(16)}
        header = {"alg": "Ed25519", "kid": "site", "typ": "vouch+jwt", **self.header}
        claims = {**usual, **self.user, **asked, **self.claims}
        body = json_response({name: value for name, value in claims.items() if value is not None}).body
        return jws.serialize_compact(header, body, self.signing, algorithms=[header["alg"]])

    def _sign_in(self, request: Request) -> Response:
        asked = {name: request.query[name] for name in ("state", "elicitation") if name in request.query}
        page = PAGE.format(action=self.vouch_url, assertion=self.assertion(**asked), sub=html.escape(self.user["sub"]))
        return Response(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})
