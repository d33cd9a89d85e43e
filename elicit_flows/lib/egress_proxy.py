"""A proxy for all outgoing requests, for networks without direct internet access (CONNECT, RFC 9110, 9.3.6).

The proxy resolves the names, so this service does not see the addresses. TLS is between this service and the server, so
the proxy can neither read nor change anything.
"""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

MAX_HEAD = 8192
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)[ \r\n]")


class ProxyRefused(OSError):
    """The proxy answered, but there is no tunnel. ``str`` is a sentence."""


@dataclass(frozen=True)
class EgressProxy:
    """``authorization``: the value of Proxy-Authorization, or ""."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"http://{self.host}:{self.port}" if ":" not in self.host else f"http://[{self.host}]:{self.port}"

    def request(self, host: str, port: int) -> bytes:
        """The CONNECT request for a tunnel to ``host`` (a name, or an address without brackets)."""
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", "User-Agent: elicit-flows"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def read(url: str) -> EgressProxy:
    """``http://proxy.example.com:3128``, also with ``user:password@``. Raises ValueError with a sentence."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("it must be an address like http://proxy.example.com:3128")
    try:
        port = parts.port
    except ValueError:  # its text may contain a part of the password
        port = None
    if port is None:
        raise ValueError(
            "it must name the port, as in http://proxy.example.com:3128; write / ? # @ in a password as %2F %3F %23 %40"
        ) from None
    authorization = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return EgressProxy(parts.hostname, port, authorization)


def open_tunnel(
    sock: socket.socket, proxy: EgressProxy, host: str, port: int, *, remaining: Callable[[], float]
) -> None:
    """Makes ``sock``, which is connected to the proxy, a tunnel to ``host``. ``remaining`` returns the seconds left.

    Raises OSError, and ``ProxyRefused`` if the proxy opens no tunnel.
    """
    sock.settimeout(remaining())
    sock.sendall(proxy.request(host, port))
    head = b""
    while b"\r\n\r\n" not in head:
        sock.settimeout(remaining())
        piece = sock.recv(MAX_HEAD)
        head += piece
        if not piece or len(head) > MAX_HEAD:
            raise ProxyRefused("The egress proxy did not answer as a proxy.")
    status = _STATUS.match(head)
    if status is None:
        raise ProxyRefused("The egress proxy did not answer as a proxy.")
    if not status[1].startswith(b"2"):
        raise ProxyRefused(f"The egress proxy answered {status[1].decode()}.")
    # A TLS server sends nothing before the client does, so these bytes are not from the server.
    if head.partition(b"\r\n\r\n")[2]:
        raise ProxyRefused("The egress proxy sent more than its answer.")
