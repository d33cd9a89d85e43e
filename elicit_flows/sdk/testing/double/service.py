"""The double over HTTP, in a thread of the test."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from elicit_flows.domain.errors import BadCursor, Conflict, ConnectionRevoked, FlowError, Invalid
from elicit_flows.domain.values import Claim, Json
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.sync import SyncElicit
from elicit_flows.sdk.testing.double.state import Asked, State
from elicit_flows.sdk.testing.double.user import DoubleUser

ISSUER = "https://double.example"
TOKEN_SECONDS = 3600
MOST_EVENTS = 100
IDLE_SECONDS = 0.2  # how often a stream looks whether the double was stopped


class Double:
    """A service that exists for a test only; use it in a ``with`` block.

    ``url``, ``api_key``, ``elicit``, ``sync_elicit`` and ``user`` are those of ``Service``. ``sandbox_url`` is the
    issuer of its users, and no address. Any user, provider and scope is known to it.
    """

    sandbox_url = ISSUER

    def __init__(self) -> None:
        self.api_key = f"test_{secrets.token_urlsafe(32)}"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.state = State(self.url)
        self.stopped = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def elicit(self) -> Elicit:
        """A client of the double."""
        return Elicit(self.url, self.api_key)

    def sync_elicit(self) -> SyncElicit:
        """A client of the double without ``await``."""
        return SyncElicit(self.url, self.api_key)

    def user(self, name: str = "alice") -> DoubleUser:
        """A user whom the agent may ask."""
        return DoubleUser(self.state, Claim(ISSUER, name))

    def crash(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """End the server and all streams."""
        self.stopped = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Request:
    """One request, with what its handler needs of it."""

    def __init__(self, double: Double, query: dict[str, str], headers: dict[str, str], body: Json) -> None:
        self.state, self.query, self.body = double.state, query, body
        self.key = headers.get("idempotency-key") or secrets.token_hex(8)


Answer = tuple[int, Any]


def create(request: Request) -> Answer:
    asked, replayed = request.state.create(request.body, request.key)
    return (200 if replayed else 201), asked.body


def listed(request: Request) -> Answer:
    wanted = {name: request.query[name] for name in ("status", "iss", "sub", "kind") if name in request.query}
    rows = [one.body for one in reversed(request.state.asked.values())]
    return 200, {"data": [one for one in rows if wanted.items() <= (one | one["subject"]).items()], "next_cursor": None}


def get(request: Request, id: str) -> Answer:
    asked = request.state.find(id)
    after = int(request.query.get("after_seq") or asked.body["seq"])
    end = time.monotonic() + float(request.query.get("wait", 0))
    while not asked.over and asked.body["seq"] <= after and (left := end - time.monotonic()) > 0:
        request.state.wait(left)
        asked = request.state.find(id)
    return 200, asked.body


def changing(change: Callable[[State, Asked, Request], object]) -> Callable[[Request, str], Answer]:
    def answer(request: Request, id: str) -> Answer:
        asked = request.state.find(id)
        change(request.state, asked, request)
        return 200, asked.body

    return answer


def completed(state: State, asked: Asked, request: Request) -> None:
    state.complete(asked, request.body.get("answers") or {})


def note(request: Request, id: str) -> Answer:
    asked = request.state.find(id)
    changes: Json = request.body.get("note", {})
    for name, value in changes.items():
        if value is not None and not isinstance(value, str):
            raise Invalid.at(f"note.{name}", "Input should be a valid string")
    asked.note = {name: value for name, value in (asked.note | changes).items() if value is not None}
    return 200, {"note": asked.note}


def connections(request: Request) -> Answer:
    wanted = {name: request.query[name] for name in ("iss", "sub", "provider", "status") if name in request.query}
    rows = reversed(request.state.connections.values())
    return 200, {"data": [one for one in rows if wanted.items() <= (one | one["subject"]).items()], "next_cursor": None}


def live(request: Request, id: str) -> Json:
    """Raises ConnectionRevoked."""
    found = request.state.connection(id)
    if found["status"] == "revoked":
        raise ConnectionRevoked
    return found


def token(request: Request, id: str) -> Answer:
    until = (datetime.now(UTC) + timedelta(seconds=TOKEN_SECONDS)).isoformat()
    found = live(request, id)
    if id in request.state.secrets:
        raise Conflict("This connection holds credentials that the user typed: ask for its secret.")
    body = {"access_token": f"double-{id}", "token_secret": None, "token_type": "Bearer", "expires_at": until}
    return 200, body | {"scopes": found["scopes"], "metadata": {}, "resource": None}


def secret(request: Request, id: str) -> Answer:
    live(request, id)
    if id not in request.state.secrets:
        raise Conflict("This connection belongs to an OAuth provider. Ask for its token.")
    return 200, {"fields": request.state.secrets[id]}


def revoke(request: Request, id: str) -> Answer:
    request.state.connection(id).update(status="revoked", health="revoked")
    return 204, None


def authorizations(request: Request) -> Answer:
    wanted = {name: request.query[name] for name in ("iss", "sub", "elicitation") if name in request.query}
    rows = [one.body for one in reversed(request.state.authorizations.values())]
    return 200, {"data": [one for one in rows if wanted.items() <= (one | one["subject"]).items()], "next_cursor": None}


def events(request: Request) -> Answer:
    state, after = request.state, request.query.get("after", "0")
    if after == "latest":
        return 200, {"data": [], "cursor": str(len(state.events))}
    if not after.isdecimal():
        raise BadCursor("Use a cursor that this API gave you, or leave it out to begin with the oldest.")
    end = time.monotonic() + float(request.query.get("wait", 0))
    while len(state.events) <= int(after) and (left := end - time.monotonic()) > 0:
        state.wait(left)
    page = state.events[int(after) : int(after) + MOST_EVENTS]
    return 200, {"data": page, "cursor": str(int(after) + len(page))}


ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("POST", r"/v1/elicitations", create),
    ("GET", r"/v1/elicitations", listed),
    ("GET", r"/v1/elicitations/([^/]+)", get),
    ("POST", r"/v1/elicitations/([^/]+)/cancel", changing(lambda state, asked, _: state.cancel(asked))),
    ("POST", r"/v1/elicitations/([^/]+)/consume", changing(lambda state, asked, it: state.consume(asked, it.key))),
    ("POST", r"/v1/elicitations/([^/]+)/complete", changing(completed)),
    ("GET", r"/v1/elicitations/([^/]+)/note", note),
    ("PATCH", r"/v1/elicitations/([^/]+)/note", note),
    ("GET", r"/v1/connections", connections),
    ("GET", r"/v1/connections/([^/]+)", lambda it, which: (200, it.state.connection(which))),
    ("POST", r"/v1/connections/([^/]+)/token", token),
    ("POST", r"/v1/connections/([^/]+)/secret", secret),
    ("DELETE", r"/v1/connections/([^/]+)", revoke),
    ("GET", r"/v1/authorizations", authorizations),
    ("GET", r"/v1/authorizations/([^/]+)", lambda it, which: (200, it.state.authorization(which).body)),
    ("POST", r"/v1/authorizations/([^/]+)/sign", lambda it, which: (200, it.state.sign(which, it.key))),
    ("GET", r"/v1/events", events),
]


def answered(request: Request, method: str, path: str) -> Answer:
    """The answer, or the problem (RFC 9457) in its place."""
    for verb, pattern, handle in ROUTES:
        found = re.fullmatch(pattern, path)
        if verb == method and found:
            try:
                with request.state.changed:
                    request.state.expire()
                    return handle(request, *found.groups())
            except FlowError as refused:
                errors = {"errors": list(refused.errors)} if isinstance(refused, Invalid) else {}
                return refused.status, problem(refused.status, refused.code, str(refused), **errors)
    return 501, problem(501, "not_in_the_double", f"The double has no {method} {path}. Use the service itself.")


def problem(status: int, code: str, detail: str, **more: Any) -> Json:
    return {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, **more}


def _handler(double: Double) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            url = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if headers.get("authorization") != f"Bearer {double.api_key}":
                return self.say(401, problem(401, "unauthenticated", "A valid API key is needed."))
            request = Request(double, query, headers, json.loads(sent) if sent else {})
            after = headers.get("last-event-id") or query.get("after") or "0"
            wants_stream = url.path == "/v1/events" and "text/event-stream" in headers.get("accept", "")
            if wants_stream and after.isdecimal():
                return self.stream(request, after)
            return self.say(*answered(request, self.command, url.path))

        def say(self, status: int, body: Any) -> None:
            text = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def stream(self, request: Request, after: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            at = int(after)
            while not double.stopped:
                request.query = {"after": str(at), "wait": str(IDLE_SECONDS)}
                page = answered(request, "GET", "/v1/events")[1]["data"]
                try:
                    for event in page:
                        at += 1
                        self.wfile.write(f"id: {at}\ndata: {json.dumps(event)}\n\n".encode())
                    self.wfile.write(b":\n\n")
                except OSError:
                    return

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815  the names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return Handler
