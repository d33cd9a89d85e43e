"""A way to PostgreSQL that can be cut at the worst moment: when the server got a statement, before it answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit, urlunsplit


class Cutting:
    """``url`` leads to the database at ``target``. ``arm`` says which connection is cut, and when.

    Whichever connection sends ``mark`` is the one. What it sends after that is counted, the message with the mark being
    0; at the ``nth`` the line is cut, ``before`` the server got it or after. ``cuts`` counts.
    """

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        assert parts.port is not None
        self._to = ("127.0.0.1", parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        port = self._listener.getsockname()[1]
        host = f"{parts.username}@127.0.0.1:{port}"
        self.url = urlunsplit(parts._replace(netloc=host))
        self.cuts = 0
        self._mark: bytes | None = None
        self._nth, self._before = 0, False
        self._times = 0  # it was armed
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, mark: str, nth: int, *, before: bool) -> None:
        self.cuts, self._nth, self._before = 0, nth, before
        self._times += 1
        self._mark = mark.encode()

    def disarm(self) -> None:
        self._mark = None

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._to)
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        """What the service says; its messages are small, so each comes as one piece."""
        seen, times = -1, 0
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                mark = self._mark
                if times != self._times:  # what was counted for an earlier mark counts no more
                    seen, times = -1, self._times
                if mark and (seen >= 0 or mark in data):
                    seen += 1
                    if seen == self._nth:
                        self._mark = None
                        self.cuts += 1
                        self._cut(client, server, data)
                        return
                server.sendall(data)
        _close(client, server)

    def _cut(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not a goodbye
        if self._before:
            _close(client, server)
            return
        _close(client)
        with contextlib.suppress(OSError):
            server.sendall(data)
            server.shutdown(socket.SHUT_WR)  # the server does what it was told and finds nobody to tell

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for one in ends:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
