"""Ends TLS in front of the service, as in production, and passes everything on unchanged."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.doubles.certificate import self_signed
from tests.support.ports import free_port


class TlsProxy:
    """Listens at ``url`` (https, localhost) and passes on to ``target``, a port of this machine."""

    def __init__(self) -> None:
        self.port, self.target = free_port(), 0
        self.url = f"https://localhost:{self.port}"
        self._home = Path(tempfile.mkdtemp(prefix="elicit-tls-"))
        self._context, _ = self_signed(self._home, "localhost")
        self._socket = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            plain.settimeout(30)
            with self._context.wrap_socket(plain, server_side=True) as client:
                self._exchange(client)

    def _exchange(self, client: ssl.SSLSocket) -> None:
        """Request by request, as ``Connection: close`` is all that a test needs."""
        while head := _head(client):
            with socket.create_connection(("127.0.0.1", self.target), 30) as service:
                lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
                length = next((int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")), 0)
                service.sendall(b"\r\n".join([*lines[:-2], b"Connection: close", b"", b""]))
                while length > 0:
                    piece = client.recv(min(length, 65536))
                    service.sendall(piece)
                    length -= len(piece)
                while piece := service.recv(65536):
                    client.sendall(piece)
            return

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        shutil.rmtree(self._home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _head(client: ssl.SSLSocket) -> bytes:
    """The head of a request with its empty line, b"" when the client has left."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        piece = client.recv(1)
        if not piece:
            return b""
        data += piece
    return data
