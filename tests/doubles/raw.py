"""A TCP server that sends the bytes that a test scripts, and counts its connections."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

Script = Callable[[socket.socket], None]


class Listener:
    """Runs ``script`` with each connection, in a thread of its own. ``address`` is host:port on loopback."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self.heard: list[bytes] = []
        self._script, self._tls = script, tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://localhost:{self.port}/"
        self.over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._script(connection)
        connection.close()

    def close(self) -> None:
        self.over.set()
        # A plain close would leave accept() waiting on the old descriptor.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._open:
            connection.close()

    def request(self, connection: socket.socket) -> bytes:
        """Reads one request, head and body; b"" when the other side hung up."""
        data = b""
        while not _complete(data):
            piece = connection.recv(65536)
            if not piece:
                return b""
            data += piece
        self.heard.append(data)
        return data


def _complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(end) and len(body) >= int(length[1] if length else 0)


@contextlib.contextmanager
def listening(
    script: Callable[[Listener, socket.socket], None], tls: ssl.SSLContext | None = None
) -> Iterator[Listener]:
    """A listener whose script also gets the listener itself."""
    listener = Listener(lambda connection: script(listener, connection), tls)
    try:
        yield listener
    finally:
        listener.close()


def answering(reply: bytes) -> Callable[[Listener, socket.socket], None]:
    """A script that answers every request on a connection with the same bytes."""

    def script(listener: Listener, connection: socket.socket) -> None:
        while listener.request(connection):
            connection.sendall(reply)

    return script


def dripping(head: bytes, drop: bytes, every: float) -> Callable[[Listener, socket.socket], None]:
    """A script that sends ``head`` and then ``drop`` again and again until somebody hangs up."""

    def script(listener: Listener, connection: socket.socket) -> None:
        listener.request(connection)
        connection.sendall(head)
        while not listener.over.wait(every):
            connection.sendall(drop)

    return script
