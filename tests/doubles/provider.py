"""A programmable OAuth 2.0 and OpenID provider for tests.

It plays by the rules (exact redirect URI, single-use codes, PKCE S256, rotating refresh tokens, RFC 7009, RFC 9207)
until a test changes an attribute or scripts a route: ``authorize par device register token revoke userinfo
api jwks metadata``. Where the real thing can be had, the end-to-end tests use that instead.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.doubles.server import Request, Response, Route, Server, json_response, redirect

SIGNING = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})


class _Lenient(jws.JWSRegistry):
    max_header_length = 65536


@dataclass
class Code:
    """An authorization code: what it was asked for with, and for whom it was given."""

    query: dict[str, str]
    user: dict[str, Any]
    used: bool = False


@dataclass
class Issued:
    """An access token and the refresh token beside it."""

    user: dict[str, Any]
    scope: str
    refresh_token: str
    live: bool = True
    nonce: str | None = None
    history: list[str] = field(default_factory=list)


@dataclass
class Device:
    """A code for another device: what it was asked for with, and who typed it or which error there is."""

    user_code: str
    form: dict[str, str]
    user: dict[str, Any] | None = None
    error: str = "authorization_pending"


class Provider(Server):
    """One client. ``user`` is who presses "allow" next; ``decision`` is None or the OAuth error to answer with.

    In ``metadata``, ``claims``, ``header``, ``reply`` and ``device_reply`` a test's values replace the usual ones; None
    leaves one out.
    """

    def __init__(self, client_id: str = "elicit", client_secret: str | None = "s3cret") -> None:
        self.client_id, self.client_secret = client_id, client_secret
        self.user: dict[str, Any] = {"sub": "alice", "name": "Alice Example"}
        self.decision: str | None = None
        self.expires_in, self.default_scope = 3600, "openid"
        self.metadata: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.reply: dict[str, Any] = {}
        self.callback: dict[str, str] = {}  # what the browser brings back beside the code
        self.about: Any = {}  # what the API says
        self.sends_iss, self.rotates, self.opens = True, True, True
        self.keys: list[dict[str, Any]] = [SIGNING.as_dict(private=False)]
        self.signing: RSAKey | ECKey | OKPKey = SIGNING
        self.codes: dict[str, Code] = {}
        self.tokens: dict[str, Issued] = {}
        self.pushed: dict[str, dict[str, str]] = {}
        self.devices: dict[str, Device] = {}
        self.device_reply: dict[str, Any] = {}
        super().__init__()
        self.issuer = self.url

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {
            "/.well-known/openid-configuration": ("metadata", self._metadata),
            "/.well-known/oauth-authorization-server": ("metadata", self._metadata),
            "/authorize": ("authorize", self._authorize),
            "/par": ("par", self._pushed),
            "/device": ("device", self._device),
            "/register": ("register", self._registered),
            "/token": ("token", self._token),
            "/revoke": ("revoke", self._revoke),
            "/introspect": ("introspect", self._introspect),
            "/userinfo": ("userinfo", self._userinfo),
            "/api/about": ("api", self._api),
            "/jwks": ("jwks", lambda _: json_response({"keys": self.keys})),
        }

    # What a browser does, without one.

    def visit(self, url: str) -> dict[str, list[str]]:
        """Follow an authorization URL as the user; the query that the callback gets."""
        answer = self.respond(Request("GET", "/authorize", dict(parse_qsl(urlsplit(url).query)), {}, {}, b""))
        assert answer.status == 302, answer.body
        fields: dict[str, list[str]] = {}
        for name, value in parse_qsl(urlsplit(answer.headers["Location"]).query):
            fields.setdefault(name, []).append(value)
        return fields

    def enter(self, user_code: str, user: str = "alice", *, error: str = "") -> None:
        """Somebody types the code of another device; ``error`` is what became of it if it was no yes."""
        found = next(one for one in self.devices.values() if one.user_code == user_code)
        found.user, found.error = {"sub": user, "name": user.title()}, error

    def live(self, access_token: str) -> bool:
        issued = self.tokens.get(access_token)
        return issued is not None and issued.live

    def id_token(self, user: dict[str, Any], nonce: str | None, access_token: str) -> str:
        """Signed with ``signing``; ``header`` and ``claims`` as the test wants them."""
        now = int(time.time())
        digest = hashlib.sha256(access_token.encode()).digest()
        usual: dict[str, Any] = {
            "iss": self.issuer,
            "aud": self.client_id,
            "iat": now,
            "exp": now + 300,
            "auth_time": now,
            "nonce": nonce,
            "at_hash": base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode(),
            **{name: user[name] for name in ("sub", "name") if name in user},
        }
        header = _without_none({"alg": "RS256", "kid": self.signing.kid} | self.header)
        claims = json_response(_without_none(usual | self.claims)).body
        return jws.serialize_compact(header, claims, self.signing, registry=_Lenient(None, [header["alg"]], False))

    def jwt(self, typ: str | None = "at+jwt", **claims: Any) -> str:
        """Signed with ``signing``: an access token for a resource (RFC 9068), or what else a test makes of it."""
        now = int(time.time())
        usual = {"iss": self.issuer, "sub": "alice", "client_id": "app", "iat": now, "exp": now + 300, "jti": "j"}
        header = _without_none({"alg": "RS256", "kid": self.signing.kid, "typ": typ})
        return jws.serialize_compact(header, json_response(_without_none(usual | claims)).body, self.signing)

    # The endpoints.

    def _metadata(self, request: Request) -> Response:
        usual = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "revocation_endpoint": f"{self.url}/revoke",
            "introspection_endpoint": f"{self.url}/introspect",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": self.sends_iss,
        }
        return json_response(_without_none(usual | self.metadata))

    def _authorize(self, request: Request) -> Response:
        query = self.pushed.get(request.query.get("request_uri", ""), request.query)
        if query.get("client_id") != self.client_id or not query.get("redirect_uri"):
            return Response(400, b"unknown client")
        answer = {"state": query.get("state", "")} | ({"iss": self.issuer} if self.sends_iss else {})
        if self.decision:
            answer |= {"error": self.decision}
        elif query.get("response_type") != "code" or query.get("code_challenge_method", "S256") != "S256":
            answer |= {"error": "invalid_request"}
        else:
            answer |= {"code": self.code(query), **self.callback}
        return redirect(f"{query['redirect_uri']}?{urlencode(answer)}")

    def _registered(self, request: Request) -> Response:
        """The one client is who registered last."""
        self.client_id, self.client_secret = f"client-{secrets.token_hex(4)}", f"secret-{secrets.token_hex(16)}"
        return json_response({"client_id": self.client_id, "client_secret": self.client_secret}, 201)

    def _pushed(self, request: Request) -> Response:
        if not self._authenticated(request):
            return json_response({"error": "invalid_client"}, 401)
        reference = f"urn:ietf:params:oauth:request_uri:{secrets.token_urlsafe(16)}"
        self.pushed[reference] = request.form
        return json_response({"request_uri": reference, "expires_in": 60}, 201)

    def code(self, query: dict[str, str]) -> str:
        """A fresh authorization code for ``user``, bound to the query it was asked for with."""
        code = secrets.token_urlsafe(16)
        with self.lock:
            self.codes[code] = Code(query, dict(self.user))
        return code

    def _token(self, request: Request) -> Response:
        if not self._authenticated(request):
            return json_response({"error": "invalid_client"}, 401)
        with self.lock:
            if request.form.get("grant_type") == "refresh_token":
                return self._refreshed(request.form)
            if request.form.get("grant_type") == "client_credentials":
                return self._for_client(request.form)
            if "device_code" in request.form:
                return self._entered(request.form)
            return self._redeemed(request.form)

    def _for_client(self, form: dict[str, str]) -> Response:
        """A token for the client itself, and no refresh token (RFC 6749, section 4.4.3)."""
        access, scope = f"at-{secrets.token_urlsafe(16)}", form.get("scope", "")
        self.tokens[access] = Issued({}, scope, "")
        usual = {"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in, "scope": scope or None}
        return json_response(_without_none(usual | self.reply))

    def _redeemed(self, form: dict[str, str]) -> Response:
        code = self.codes.get(form.get("code", ""))
        if code is None or code.used or form.get("redirect_uri") != code.query["redirect_uri"]:
            return json_response({"error": "invalid_grant"}, 400)
        challenge = code.query.get("code_challenge")
        if challenge and challenge != _s256(form.get("code_verifier", "")):
            return json_response({"error": "invalid_grant"}, 400)
        code.used = True
        return self._issue(code.user, code.query.get("scope") or self.default_scope, code.query.get("nonce"))

    def _device(self, request: Request) -> Response:
        """RFC 8628, section 3.2; ``device_reply`` changes what it says."""
        if not self._authenticated(request):
            return json_response({"error": "invalid_client"}, 401)
        code, shown = secrets.token_urlsafe(16), f"{secrets.token_hex(2)}-{secrets.token_hex(2)}".upper()
        self.devices[code] = Device(shown, request.form)
        usual = {
            "device_code": code,
            "user_code": shown,
            "verification_uri": f"{self.url}/enter",
            "verification_uri_complete": f"{self.url}/enter?user_code={shown}",
            "expires_in": 900,
            "interval": 1,
        }
        return json_response(_without_none(usual | self.device_reply))

    def _entered(self, form: dict[str, str]) -> Response:
        device = self.devices.get(form["device_code"])
        if device is None or device.error:
            return json_response({"error": device.error if device else "invalid_grant"}, 400)
        device.error = "invalid_grant"  # it is good once
        return self._issue(device.user or {}, device.form.get("scope") or self.default_scope, None)

    def _refreshed(self, form: dict[str, str]) -> Response:
        presented = form.get("refresh_token", "")
        former = next((issued for issued in self.tokens.values() if presented in issued.history), None)
        if former is None or not former.live or former.refresh_token != presented:
            return json_response({"error": "invalid_grant"}, 400)
        if self.rotates:
            former.live = False
        return self._issue(former.user, former.scope, former.nonce, None if self.rotates else presented)

    def _issue(self, user: dict[str, Any], scope: str, nonce: str | None, kept: str | None = None) -> Response:
        access, refresh = f"at-{secrets.token_urlsafe(16)}", kept or f"rt-{secrets.token_urlsafe(16)}"
        self.tokens[access] = Issued(user, scope, refresh, nonce=nonce, history=[refresh])
        usual = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.expires_in,
            "refresh_token": refresh,
            "scope": scope,
        }
        if self.opens and "openid" in scope.split():
            usual["id_token"] = self.id_token(user, nonce, access)
        return json_response(_without_none(usual | self.reply))

    def _introspect(self, request: Request) -> Response:
        """RFC 7662, for the tokens that it issued; ``reply`` changes what it says."""
        if not self._authenticated(request):
            return json_response({"error": "invalid_client"}, 401)
        issued = self.tokens.get(request.form.get("token", ""))
        if issued is None or not issued.live:
            return json_response({"active": False})
        usual = {"active": True, "sub": issued.user["sub"], "client_id": self.client_id, "token_type": "Bearer"}
        return json_response(_without_none(usual | self.reply))

    def _revoke(self, request: Request) -> Response:
        if not self._authenticated(request):
            return json_response({"error": "invalid_client"}, 401)
        token = request.form.get("token", "")
        for access, issued in self.tokens.items():
            if token in (access, *issued.history):
                issued.live = False
        return Response(200)

    def _userinfo(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.live(token):
            return json_response({"error": "invalid_token"}, 401)
        return json_response(self.tokens[token].user)

    def _api(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return json_response(self.about) if self.live(token) else json_response({"error": "invalid_token"}, 401)

    def _authenticated(self, request: Request) -> bool:
        """client_secret_basic, client_secret_post, or none for a public client."""
        scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            name, _, secret = base64.b64decode(encoded).decode().partition(":")
            return (unquote_plus(name), unquote_plus(secret)) == (self.client_id, self.client_secret)
        return (request.form.get("client_id"), request.form.get("client_secret")) == (
            self.client_id,
            self.client_secret,
        )


def _s256(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def shop_entry(port: int) -> str:
    """A catalogue entry for the double at ``port``, with a host for each shop, whose name is left to the person."""
    return f"""\
name = "Shops"
kind = "oauth"
source_url = "https://example.com/docs"
checked = "unverified"
token_auth = "client_secret_basic"

[endpoints]
authorize = "http://{{shop}}.shops.localhost:{port}/authorize"
token = "http://{{shop}}.shops.localhost:{port}/token"
revoke = "http://{{shop}}.shops.localhost:{port}/revoke"
userinfo = "http://{{shop}}.shops.localhost:{port}/userinfo"

[[variables]]
name = "shop"
label = "Name of the shop"
help = "The first part of its address."
pattern = "^[a-z0-9][a-z0-9.-]{{0,62}}$"
example = "example-shop"

[[metadata]]
name = "shop_domain"
from = "callback"
path = ["shop"]
type = "host"
hosts = ["*.myshops.example.com"]
source_url = "https://example.com/docs"
"""
