"""A service that says what a test tells it to, over real HTTP, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ELICITATION: dict[str, Any] = {
    "id": "el_1",
    "object": "elicitation",
    "kind": "oauth",
    "status": "pending",
    "action": None,
    "url": "http://127.0.0.1/c/el_1",
    "message": "Connect Acme.",
    "subject": {"iss": "https://idp.example", "sub": "alice"},
    "params": {"provider": "acme", "scopes": []},
    "result": None,
    "error": None,
    "reused": False,
    "seq": 1,
    "created_at": "2026-11-21T10:00:00Z",
    "expires_at": "2026-11-21T10:15:00Z",
    "finished_at": None,
    "consumed_at": None,
    "return_url": None,
    "metadata": {},
    "added_by_a_later_service": True,
}
RESULT = {"connection": "cn_1", "provider": "acme", "scopes": ["files.read"], "account": {"id": "a", "label": "A"}}
COMPLETED = ELICITATION | {"status": "completed", "action": "accept", "seq": 4, "result": RESULT}


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """``lines`` are sent as they are and then the connection closes; ``drop`` closes it without a word.

    ``hold``: after whatever ``lines`` there are, nothing more is said until the client hangs up.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    lines: str | None = None
    drop: bool = False
    hold: bool = False
    when: Callable[[], object] | None = None


DROP = Reply(drop=True)
SILENCE = Reply(hold=True)


def problem(status: int, code: str, headers: dict[str, str] | None = None, **more: Any) -> Reply:
    body = {"type": "about:blank", "title": code, "status": status, "detail": f"It is {code}", "code": code, **more}
    return Reply(body, status, {"Content-Type": "application/problem+json", **(headers or {})})


def stream(lines: str, *, hold: bool = False) -> Reply:
    return Reply(lines=lines, headers={"Content-Type": "text/event-stream"}, hold=hold)


class FakeService:
    """Answers each (method, path) with its replies in turn; what no test told it is answered with 500."""

    def __init__(self, port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.hung_up = threading.Semaphore(0)  # one for each held reply whose client left
        self.replies: dict[tuple[str, str], deque[Reply]] = defaultdict(deque)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def on(self, method: str, path: str, *replies: Reply) -> None:
        self.replies[method, path].extend(replies)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            url = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = (
                json.loads(sent)
                if sent and "json" in headers.get("content-type", "")
                else parse_qs(sent.decode()) or None
            )
            service.asked.append(Asked(self.command, url.path, query, headers, body))
            rest = service.replies[self.command, url.path]
            self.send(rest.popleft() if rest else problem(500, "not_in_the_script"))

        def send(self, reply: Reply) -> None:
            if reply.when:
                reply.when()
            if reply.drop:
                return
            if reply.lines is not None or not reply.hold:
                say(self, reply)
            if reply.hold and left(self.connection):
                service.hung_up.release()

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the test reads ``asked``."""

    return Handler


def left(connection: socket.socket) -> bool:
    """Waits for the client's next word; whether it hung up instead."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def say(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    text = reply.lines if reply.lines is not None else reply.body
    data = text if isinstance(text, str) else json.dumps(text)
    handler.send_response(reply.status)
    for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
        handler.send_header(name, value)
    handler.end_headers()
    if reply.status != 204:
        handler.wfile.write(data.encode())
