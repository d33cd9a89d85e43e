"""Every provider of the catalogue, each as odd as its file says, and strict about it; one process for all of them.

It reads the files by itself, not with the catalogue's code, so that what that code makes of them is held against
another reading. ``python -m tests.doubles.quirky`` prints its address and ends with its standard input.

Below ``/{slug}`` an OAuth provider has ``authorize token refresh revoke userinfo api``, one for keys has ``verify``.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import secrets
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode

from tests.doubles.server import Request, Response, Route, Server, json_response, redirect

ENTRIES = Path(__file__).resolve().parents[2] / "elicit_flows" / "catalogue" / "entries"
CLIENT, SECRET = "our client", "s3cret: with/signs"
ASKED = ["a.read", "b:write"]
LIFE = 4321  # seconds
ACCOUNT, LABEL = 4711, "Alice"
TYPED = "typed-by-the-user"


class Refused(Exception):
    """What is wrong with a request."""


class Quirky(Server):
    def __init__(self) -> None:
        self.said = {file.stem: tomllib.loads(file.read_text()) for file in ENTRIES.glob("*.toml")}
        self.asked: dict[str, dict[str, str]] = {}  # what each code was asked for with
        super().__init__()

    def respond(self, request: Request) -> Response:
        _, slug, what, *_ = f"{request.path}//".split("/")
        said = self.said[slug]
        try:
            return self.route(slug, what)(Odd(said, slug), request)
        except Refused as refused:
            return json_response({"error": "invalid_request", "error_description": str(refused)}, 400)

    def route(self, slug: str, what: str) -> Any:
        routes: dict[str, Any] = {
            ".well-known": self.metadata,
            "authorize": self.authorize,
            "token": self.token,
            "refresh": self.refresh,
            "revoke": self.revoke,
            "userinfo": self.userinfo,
            "verify": self.verify,
            "api": self.api,
            "revoke_call": self.described,
            "long_token": self.described,
            "renew_token": self.described,
        }
        return routes[what]

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {}

    def metadata(self, odd: Odd, request: Request) -> Response:
        base = f"{self.url}/{odd.slug}"
        ends = {f"{name}_endpoint": f"{base}/{name}" for name in ("authorize", "token")}
        return json_response({"issuer": base, **ends})

    def authorize(self, odd: Odd, request: Request) -> Response:
        query = request.query
        odd.demand(query, {**odd.query("authorize"), **odd.params("authorize"), "response_type": "code"})
        odd.demand(query, {odd.quirk("client_id_param", "client_id"): CLIENT})
        odd.demand(query, {odd.quirk("scope_param", "scope"): odd.separator.join(odd.scopes)})
        if (odd.said.get("pkce", "S256") == "off") != ("code_challenge" not in query):
            raise Refused("PKCE")
        for name in ("client_id", "scope"):
            if odd.quirk(f"{name}_param", name) != name and name in query:
                raise Refused(f"{name} by its usual name")
        if ("nonce" in query) != ("openid" in odd.scopes and odd.quirk("nonce", True)):
            raise Refused("nonce")
        code = secrets.token_hex(8)
        self.asked[code] = query
        return redirect(
            f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], **odd.more({}, 'callback')})}"
        )

    def token(self, odd: Odd, request: Request) -> Response:
        form = odd.authenticated(request)
        if odd.own:
            return self.for_client(odd, form)
        if form.get("grant_type") == "refresh_token" and not odd.ends.get("refresh"):
            return self.refreshed(odd, form)
        odd.demand(form, {**odd.params("token"), "grant_type": "authorization_code"})
        odd.demand(request.query, odd.query("token"))
        asked = self.asked.pop(form["code"])
        odd.demand(form, {"redirect_uri": asked["redirect_uri"]})
        if _s256(form.get("code_verifier", "")) != asked.get("code_challenge", _s256("")):
            raise Refused("PKCE")
        return odd.answer("access", "refresh")

    def for_client(self, odd: Odd, form: dict[str, str]) -> Response:
        scope = {"scope": odd.separator.join(odd.scopes)} if odd.scopes else {}
        odd.demand(form, {**odd.params("token"), **scope, "grant_type": "client_credentials"})
        return odd.answer("access", "unwanted")

    def refresh(self, odd: Odd, request: Request) -> Response:
        return self.refreshed(odd, odd.authenticated(request))

    def refreshed(self, odd: Odd, form: dict[str, str]) -> Response:
        if form.get("refresh_token", "").startswith("dead-"):
            return odd.dead(form["refresh_token"].removeprefix("dead-"))
        odd.demand(form, {**odd.params("refresh"), "grant_type": "refresh_token", "refresh_token": "refresh"})
        return odd.answer("newer", "refresh")

    def revoke(self, odd: Odd, request: Request) -> Response:
        token, hint = ("access", "access_token") if odd.own else ("refresh", "refresh_token")
        odd.demand(odd.authenticated(request), {"token": token, "token_type_hint": hint})
        return Response(200)

    def userinfo(self, odd: Odd, request: Request) -> Response:
        headers = odd.quirk("userinfo_headers", {})
        odd.demand(request.headers, {"authorization": f"{odd.quirk('userinfo_scheme', 'Bearer')} access"})
        odd.demand(request.headers, {name: value.replace("{client_id}", CLIENT) for name, value in headers.items()})
        if request.method != odd.quirk("userinfo_method", "GET"):
            raise Refused(request.method)
        if request.body.decode() != odd.quirk("userinfo_body", ""):
            raise Refused("body")
        said = {"sub": str(ACCOUNT), "name": LABEL}
        return json_response(odd.account(odd.more(said, "userinfo"), "userinfo"))

    def api(self, odd: Odd, request: Request) -> Response:
        """The call for metadata."""
        odd.demand(request.headers, {"authorization": f"{odd.quirk('userinfo_scheme', 'Bearer')} access"})
        listed = any(one.get("path", [""])[0] == "*" for one in odd.said["metadata"])
        return json_response(odd.more([{}] if listed else {}, "call"))

    def described(self, odd: Odd, request: Request) -> Response:
        """A request that the file describes."""
        what = request.path.split("/")[2]
        said = odd.said[what]
        known = {"client_id": CLIENT, "client_secret": SECRET, "access_token": "access", "refresh_token": "refresh"}
        wanted = {name: value.format(**known) for name, value in said.get("params", {}).items()}
        how = said.get("send", "form")
        given = {"query": request.query, "form": request.form}.get(how) or json.loads(request.body or b"{}")
        if (request.method, given) != (said.get("method", "POST"), wanted):
            raise Refused(f"{request.method} {given}")
        basic = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        auth = {"client_secret_basic": basic, "bearer": "Bearer access"}.get(said.get("auth", "none"))
        if request.headers.get("authorization") != auth:
            raise Refused(f"{request.headers.get('authorization')}")
        token = {"long_token": "access", "renew_token": "newer"}.get(what)
        if token is None:
            return Response(204)
        return json_response({"access_token": token, "token_type": "bearer", "expires_in": LIFE})

    def verify(self, odd: Odd, request: Request) -> Response:
        """Answers 200 to what ``TYPED`` makes, and to anything else as this provider does."""
        said = odd.said["verify"]
        expected = {name.lower(): _typed(value) for name, value in said.get("headers", {}).items()}
        if "basic" in said:
            expected["authorization"] = "Basic " + base64.b64encode(f"{TYPED}:{TYPED}".encode()).decode()
        path = _typed(_after_host(said["url"])).partition("?")[0].replace("{", "").replace("}", "")
        fine = all(request.headers.get(name) == value for name, value in expected.items())
        if fine and request.path.removeprefix(f"/{odd.slug}/verify") == path:
            return json_response({})
        return json_response({}, next(iter(said.get("refused", [])), 401))


class Odd:
    """One provider's file, and what it makes of requests and answers."""

    def __init__(self, said: dict[str, Any], slug: str) -> None:
        self.said, self.slug = said, slug
        self.ends: dict[str, str] = said.get("endpoints", {})
        self.separator: str = said.get("scopes", {}).get("separator", " ")
        self.own: bool = said["kind"] == "client_credentials"  # nobody asks for scopes beside those of the entry
        self.scopes: list[str] = [*said.get("scopes", {}).get("default", []), *([] if self.own else ASKED)]

    def quirk(self, name: str, usual: Any) -> Any:
        return self.said.get("quirks", {}).get(name, usual)

    def params(self, name: str) -> dict[str, str]:
        found: dict[str, str] = self.said.get("params", {}).get(name, {})
        return found

    def query(self, name: str) -> dict[str, str]:
        return dict(parse_qsl(self.ends[name].partition("?")[2]))

    def demand(self, given: Any, expected: dict[str, str]) -> None:
        for name, value in expected.items():
            if given.get(name) != value:
                raise Refused(f"{name} is {given.get(name)!r} and not {value!r}")

    def authenticated(self, request: Request) -> dict[str, str]:
        """The parameters of a request to the token endpoint, after seeing that they come as they have to."""
        self.demand(request.headers, self.quirk("request_headers", {}))
        wanted = "json" if self.quirk("request_body", "form") == "json" else "x-www-form-urlencoded"
        if request.headers.get("content-type") != f"application/{wanted}":
            raise Refused("content-type")
        form: dict[str, str] = json.loads(request.body) if wanted == "json" else request.form
        names = [self.quirk("client_id_param", "client_id"), self.quirk("client_secret_param", "client_secret")]
        given = [form.get(name) for name in names]
        header = request.headers.get("authorization")
        method = self.said.get("token_auth", "client_secret_post")
        if method == "client_secret_basic":
            pair = base64.b64decode((header or "").removeprefix("Basic ")).decode().partition(":")
            given, header = [unquote_plus(pair[0]), unquote_plus(pair[2])], None
            if form.keys() & set(names):
                raise Refused("the client is named twice")
        if header or given != [CLIENT, None if method == "none" else SECRET]:
            raise Refused(f"the client is not authenticated with {method}")
        return form

    def answer(self, access: str, refresh: str) -> Response:
        unit = self.quirk("expires_unit", "seconds")
        end = datetime.now(UTC) + timedelta(seconds=LIFE)
        life = {"seconds": LIFE, "milliseconds": LIFE * 1000, "timestamp": end.timestamp(), "rfc3339": end.isoformat()}[
            unit
        ]
        tokens: dict[str, Any] = {"access_token": access, "refresh_token": refresh}
        tokens |= {self.quirk("expires_field", "expires_in"): life}
        tokens[self.quirk("scope_field", "scope")] = self.separator.join(self.scopes)
        if self.quirk("token_type", "bearer") == "bearer":
            tokens["token_type"] = "bearer"
        body = tokens
        for step in reversed(self.quirk("answer_path", [])):
            body = [body] if step.isdigit() else {"ok": True, step: body}
        return self.written(self.account(self.more(body, "token"), "token"))

    def more(self, body: Any, where: str) -> Any:
        """``body`` with the metadata that this provider says there."""
        for one in self.said.get("metadata", []):
            if one.get("from", "token") == where:
                _put(body, ["0" if step == "*" else step for step in one.get("path", [one["name"]])], sample(one))
        return body

    def dead(self, word: str) -> Response:
        """How it answers to the refresh token of a dead grant, in the ``word`` of its file."""
        said = next(one for one in self.said["dead_grant"] if word in one["words"])
        body: dict[str, Any] = {}
        _put(body, said.get("path", ["error"]), int(word) if word.isdigit() else word)
        return json_response(body, said.get("status", 400))

    def account(self, body: dict[str, Any], where: str) -> dict[str, Any]:
        """``body`` with the account where this provider says it."""
        if self.quirk("account_source", "userinfo") == where:
            for quirk, value in (("account_id", ACCOUNT), ("account_label", LABEL)):
                _put(body, self.quirk(quirk, []), value)
        return body

    def written(self, body: dict[str, Any]) -> Response:
        form = self.quirk("answer_format", "json")
        if form == "form":
            return Response(200, urlencode(body).encode(), {"Content-Type": "text/plain"})
        kind = "text/plain" if form == "untyped_json" else "application/json"
        return Response(200, json.dumps(body).encode(), {"Content-Type": kind})


def sample(one: dict[str, Any]) -> Any:
    """A value for a name of the metadata, of its type."""
    if one.get("type") in ("url", "host"):
        host = one["hosts"][0].replace("*", "their")
        return f"https://{host}/base" if one["type"] == "url" else host
    return {"integer": ACCOUNT, "boolean": True}.get(one.get("type", ""), f"the {one['name']}")


def _put(body: Any, steps: list[str], value: Any) -> None:
    for here, there in itertools.pairwise(steps):
        inner: Any = [{}] if there.isdigit() else {}
        body = body[int(here)] if isinstance(body, list) else body.setdefault(here, inner)
    if steps:
        body[steps[-1]] = value


def _s256(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _typed(template: str) -> str:
    before, brace, rest = template.partition("{")
    return before + (TYPED + _typed(rest.partition("}")[2]) if brace else "")


def _after_host(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


if __name__ == "__main__":
    with Quirky() as server:
        print(server.url, flush=True)
        sys.stdin.read()
