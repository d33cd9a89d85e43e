"""One request, one reply: pooled connections, one deadline for everything, no redirect followed, nothing remembered."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore2

from elicit_flows.lib import tracing
from elicit_flows.lib.http import dial, strict, urls
from elicit_flows.lib.http.errors import Refused, Unreachable
from elicit_flows.lib.http.policy import on_change

HEADER_BYTES = 32 * 1024
_IDLE_SECONDS = 4.0  # below the five seconds after which common servers hang up
_IDLE_CONNECTIONS = 64
_CHUNK_OVERHEAD = 8  # a chunk of one byte is six on the wire

# At DEBUG httpcore2 writes every response header into the log, and a header may carry a secret.
logging.getLogger("httpcore2").setLevel(logging.INFO)


@dataclass(frozen=True)
class Reply:
    """``headers`` in lower case, repeated ones joined with ", "; ``body`` complete and as it was sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as strict JSON. Raises ValueError (see ``strict.loads``)."""
        return strict.loads(self.body)


class Pool:
    """The process's connections; made anew in a forked child, where the parent's sockets must not be used."""

    def __init__(self) -> None:
        self._tls = httpcore2.default_ssl_context()
        self.renew()

    def close(self) -> None:
        """Hangs up on everybody; the next request starts afresh."""
        former = self.connections
        self.renew()
        former.close()

    def renew(self) -> None:
        self.connections = httpcore2.ConnectionPool(
            ssl_context=self._tls,
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=dial.Backend(),
        )

    def trust(self, cafile: str) -> None:
        """Also trusts the authorities in ``cafile`` (PEM)."""
        self._tls.load_verify_locations(cafile)


pool = Pool()
on_change(pool.close)
os.register_at_fork(after_in_child=pool.renew)


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    deadline: float = 10.0,
    limit: int = 65536,
) -> Reply:
    """Sends one request and reads the whole reply, whatever its status.

    ``deadline`` is seconds for everything from the name look-up to the last byte, ``limit`` the most bytes of body
    that are read. Raises ``Refused`` (nothing was sent) and ``Unreachable``. A 3xx is a reply like any other.
    """
    target = urls.parse(url)
    fields = _headers(target, headers or {}, method, body)
    call = dial.Call(time.monotonic() + deadline, HEADER_BYTES)
    try:
        with dial.calling(call):
            return _exchange(call, method, target, headers=fields, body=body, limit=limit)
    except httpcore2.LocalProtocolError:
        raise Refused("The request cannot be written as HTTP.") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
        raise Unreachable("The other side broke off or does not speak HTTP.", sent=call.sent) from None


def _exchange(
    call: dial.Call, method: str, target: urls.Target, *, headers: list[tuple[bytes, bytes]], body: bytes, limit: int
) -> Reply:
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    with (
        tracing.span(method, kind="client", http_request_method=method, server_address=target.host) as span,
        pool.connections.stream(method, url, headers=headers, content=body) as response,
    ):
        span.note(http_response_status_code=response.status)
        call.budget = limit * _CHUNK_OVERHEAD + HEADER_BYTES
        received = _fold(response.headers)
        return Reply(response.status, received, _read(call, response, limit))


def _headers(target: urls.Target, given: Mapping[str, str], method: str, body: bytes) -> list[tuple[bytes, bytes]]:
    fixed = {"host": target.authority, "accept-encoding": "identity"}
    if body or method not in ("GET", "HEAD"):
        fixed["content-length"] = str(len(body))
    merged = {"user-agent": "elicit-flows"} | {name.lower(): value for name, value in given.items()} | fixed
    try:
        return [(name.encode("ascii"), value.encode("latin-1")) for name, value in merged.items()]
    except UnicodeEncodeError:
        raise Refused("The request cannot be written as HTTP.") from None


def _fold(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    folded: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        folded[name] = f"{folded[name]}, {value}" if name in folded else value
    return folded


def _read(call: dial.Call, response: httpcore2.Response, limit: int) -> bytes:
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > limit:
            raise Unreachable("The answer is too large.", sent=call.sent)
    return bytes(body)
