"""Destinations for lines of text: standard output, a file, a syslog server."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

SECONDS = 5.0  # within which a syslog server must accept a batch
_PRIORITY = 13 * 8 + 5  # facility 13, log audit; severity 5, notice (RFC 5424, 6.2.1)


class Sink(Protocol):
    def write(self, lines: Sequence[str]) -> None:
        """Sends the lines. Raises OSError; some of the lines may have arrived nevertheless."""


@dataclass(frozen=True)
class StandardOutput:
    def write(self, lines: Sequence[str]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


@dataclass(frozen=True)
class File:
    """The file is opened for each batch, so that it can be moved at any time. Only its owner can read it."""

    path: Path

    def write(self, lines: Sequence[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True)
class Syslog:
    """RFC 5424 messages over TCP, each after its length (RFC 6587, 3.4.1), or over TLS (RFC 5425), which has the same
    framing. ``tls`` also trusts the authorities in the PEM file ``ca``.
    """

    host: str
    port: int
    tls: bool = False
    ca: str | None = None

    def write(self, lines: Sequence[str]) -> None:
        messages = b""
        for line in lines:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            head = f"<{_PRIORITY}>1 {moment} {socket.gethostname()} elicit-flows {os.getpid()} audit - "
            message = f"{head}{line}".encode()
            messages += b"%d %b" % (len(message), message)
        # Syslog has no acknowledgement. A server that closes after we did has read everything.
        with socket.create_connection((self.host, self.port), SECONDS) as plain:
            if self.tls:
                self._write_tls(plain, messages)
                return
            plain.sendall(messages)
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(1024):
                pass

    def _write_tls(self, plain: socket.socket, messages: bytes) -> None:
        context = ssl.create_default_context()
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # which Python sets before 3.11.3
        if self.ca:
            context.load_verify_locations(self.ca)
        with context.wrap_socket(plain, server_hostname=self.host) as server:
            server.sendall(messages)
            # Sends the end and waits for the server's (RFC 5425, 4.4). A connection that is only cut is an OSError:
            # whoever is in between could do that.
            server.unwrap()


def read(text: str, ca: str | None = None) -> Sink:
    """``stdout``, ``file:/var/log/elicit/audit.jsonl``, ``syslog://host:601``, ``syslog+tls://host:6514``. Raises
    ValueError with a sentence.
    """
    if text == "stdout":
        return StandardOutput()
    kind, _, rest = text.partition(":")
    if kind == "file" and Path(rest).is_absolute() and Path(rest).parent.is_dir():
        return File(Path(rest))
    if kind in {"syslog", "syslog+tls"}:
        parts = urlsplit(text)
        if parts.hostname and parts.port and not (parts.path or parts.query or parts.username):
            return Syslog(parts.hostname, parts.port, tls=kind == "syslog+tls", ca=ca)
    raise ValueError(
        "it must be stdout, file:/path/in/a/folder that is there, syslog://host:port or syslog+tls://host:port"
    )
