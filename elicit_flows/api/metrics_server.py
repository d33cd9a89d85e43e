"""A port of its own for /metrics and /incidents, which are for the network inside (``ELICIT_METRICS_ADDRESS``).

Each request has a thread and a database connection of its own: who asks here takes nothing from agents and people.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.db import DatabaseError, connections

from elicit_flows.api import metrics

SLOW = 10.0  # seconds for which a request may take its time to arrive
Start = Callable[..., Any]


class Handler(WSGIRequestHandler):
    timeout = SLOW

    def log_message(self, format: str, *args: Any) -> None:
        """Prometheus asks every few seconds: that is no news."""


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """As its parent does, without asking a name server for our name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class Server6(Server):
    address_family = socket.AF_INET6


def start(host: str, port: int) -> Server:
    """Listens, and answers in threads. Raises OSError when the address cannot be had."""
    server = (Server6 if ":" in host else Server)((host, port), Handler)
    server.set_app(answer)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def answer(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    content, content_type, status = b"", "text/plain", "404 Not Found"
    try:
        if environ["PATH_INFO"] == "/metrics":
            (content, content_type), status = metrics.page(environ.get("HTTP_ACCEPT", "")), "200 OK"
        elif environ["PATH_INFO"] == "/incidents":
            content, content_type, status = metrics.incidents_page(), "application/json", "200 OK"
    except DatabaseError:
        status = "503 Service Unavailable"
    finally:
        connections.close_all()  # of this thread
    start_response(status, [("Content-Type", content_type), ("Content-Length", str(len(content)))])
    return [content if environ["REQUEST_METHOD"] != "HEAD" else b""]
