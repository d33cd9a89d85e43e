"""A receiver of webhooks that keeps what it got, byte for byte, and can behave as badly as receivers do."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook

from tests.support.machine import within
from tests.support.ports import free_port

DRIPPED = 60_000  # bytes that an answer which drips would have: not so many that it is refused as too large


@dataclass(frozen=True)
class Delivery:
    """One request as it came in. ``at`` is in seconds of the monotonic clock; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def id(self) -> str:
        return self.headers.get("webhook-id", "")

    @property
    def event(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def verify(self, secret: str) -> dict[str, Any]:
        """The event, checked by the official verifier with ``secret`` (whsec_…); raises WebhookVerificationError."""
        Webhook(secret).verify(self.body, self.headers)
        return self.event


@dataclass
class Mode:
    """How a path answers, see the constructors of ``Sink``. ``times`` counts down; None means for ever."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    hang: bool = False
    drip: bool = False
    cut: bool = False
    times: int | None = None


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.sink.record(Delivery(self.command, self.path, headers, body, time.monotonic()))
        self._answer(self.server.sink.mode_of(self.path))

    do_GET = do_PUT = do_HEAD = do_POST

    def _answer(self, mode: Mode) -> None:
        released = self.server.sink.released
        if mode.hang:
            released.wait()
        if mode.hang or mode.cut:
            self.close_connection = True
            return
        self.send_response(mode.status)
        for name, value in mode.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(DRIPPED if mode.drip else len(mode.body)))
        self.end_headers()
        if mode.drip:
            self._drip(released)
        else:
            self.wfile.write(mode.body)

    def _drip(self, released: threading.Event) -> None:
        self.close_connection = True
        while not released.wait(0.2):
            try:
                self.wfile.write(b".")
            except OSError:
                return

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    sink: Sink

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A sender that gives up on a slow answer is what many tests are about.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Sink:
    """Listens on a port of its own. ``path in, mode out``: what is not set answers 200.

    ``status hang drip cut redirect retry_after`` set the mode of a path; ``behave`` takes any ``Mode``.
    """

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.released = threading.Event()
        self._changed = threading.Condition()
        self._modes: dict[str, Mode] = {}
        self._deliveries: list[Delivery] = []
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.sink = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def url(self, path: str = "/hooks") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def behave(self, path: str, mode: Mode) -> None:
        with self._changed:
            self._modes[path] = mode

    def ok(self, path: str) -> None:
        self.behave(path, Mode())

    def status(self, path: str, status: int, *, times: int | None = None) -> None:
        self.behave(path, Mode(status=status, times=times))

    def retry_after(self, path: str, value: str, *, status: int = 429, times: int | None = None) -> None:
        self.behave(path, Mode(status=status, headers={"retry-after": value}, times=times))

    def redirect(self, path: str, to: str, *, status: int = 307) -> None:
        self.behave(path, Mode(status=status, headers={"location": to}))

    def hang(self, path: str) -> None:
        """Takes the request and never answers."""
        self.behave(path, Mode(hang=True))

    def drip(self, path: str) -> None:
        """Answers 200 with a body that never ends, a byte every 0.2 s."""
        self.behave(path, Mode(drip=True))

    def cut(self, path: str, *, times: int | None = None) -> None:
        """Takes the request and closes the connection without an answer."""
        self.behave(path, Mode(cut=True, times=times))

    def mode_of(self, path: str) -> Mode:
        with self._changed:
            mode = self._modes.get(path, Mode())
            if mode.times is None:
                return mode
            mode.times -= 1
            return mode if mode.times >= 0 else Mode()

    def record(self, delivery: Delivery) -> None:
        with self._changed:
            self._deliveries.append(delivery)
            self._changed.notify_all()

    def received(self, path: str | None = None) -> list[Delivery]:
        with self._changed:
            return [one for one in self._deliveries if path in {None, one.path}]

    def wait_for(self, path: str, count: int = 1, *, timeout: float = 20.0) -> list[Delivery]:
        """What ``path`` received, as soon as there are ``count``; AssertionError that says how many came."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while len(found := [one for one in self._deliveries if one.path == path]) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{path} received {len(found)} of {count} within {timeout:g} s"
                self._changed.wait(left)
            return found

    def wait_for_event(
        self, path: str, type: str, elicitation: str | None = None, *, timeout: float = 20.0
    ) -> Delivery:
        """The first delivery of that type (for that elicitation); AssertionError after ``timeout`` seconds.

        They are seconds of a machine that has nothing else to do.
        """
        began = time.monotonic()
        while True:
            for one in self.received(path):
                event = one.event
                if event["type"] == type and elicitation in {None, event.get("elicitation")}:
                    return one
            with self._changed:
                waited = time.monotonic() - began
                assert waited < within(timeout), f"{path} received no {type} within {waited:.1f} s"
                self._changed.wait(0.1)

    def forget(self) -> None:
        """Everything received and every mode."""
        with self._changed:
            self._deliveries.clear()
            self._modes.clear()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
