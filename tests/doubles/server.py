"""A small HTTP server in a thread. It has named routes, keeps every request, and each answer can be replaced."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    """What came in: ``query`` and ``form`` with single values, the last of repeated ones; headers in lower case."""

    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(value: Any, status: int = 200) -> Response:
    return Response(
        status, json.dumps(value).encode(), {"Content-Type": "application/json", "Cache-Control": "no-store"}
    )


def redirect(url: str, status: int = 302) -> Response:
    return Response(status, b"", {"Location": url})


Route = Callable[[Request], Response]


class Server:
    """Routes are methods of subclasses, listed by ``routes()``: {path: (name, handler)}.

    ``calls[name]`` counts, ``requests`` keeps, ``scripted[name]`` (a Response, or a callable that makes one) replaces
    the answer of a route until it is removed. Thread-safe enough for tests: one lock around the bookkeeping.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.requests: list[tuple[str, Request]] = []
        self.scripted: dict[str, Response | Route] = {}
        self.lock = threading.RLock()
        self._server = _Http(("127.0.0.1", 0), _handler(self))
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def seen(self, name: str) -> list[Request]:
        return [request for route, request in self.requests if route == name]

    def respond(self, request: Request) -> Response:
        name, handler = self.routes().get(request.path, ("unknown", lambda _: Response(404)))
        with self.lock:
            self.calls[name] += 1
            self.requests.append((name, request))
        scripted = self.scripted.get(name)
        if isinstance(scripted, Response):
            return scripted
        return (scripted or handler)(request)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 30

        def _serve(self) -> None:
            response = server.respond(self._request())
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)

        do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = _serve

        def _request(self) -> Request:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            is_form = self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
            return Request(
                method=self.command,
                path=parts.path,
                query=_last(parts.query),
                form=_last(body.decode()) if is_form else {},
                headers={name.lower(): value for name, value in self.headers.items()},
                body=body,
            )

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler


def _last(encoded: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(encoded, keep_blank_values=True).items()}
