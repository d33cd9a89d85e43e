"""Sends one request to another server and reads its reply: over pooled connections, within one deadline.

No redirect is followed, and no cookie is kept. A name is resolved once, all its addresses are checked, and the
connection goes to one of these addresses, so a name that changes between check and use gains nothing (T90). Each read
and write gets what is left of the call's deadline, so an answer that arrives byte by byte is cut off then (T92).
"""

from __future__ import annotations

import logging
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import httpcore2

from elicit_flows.http import destinations, strict_json
from elicit_flows.http.destinations import Refused, Unreachable, is_loopback_name, on_change, policy
from elicit_flows.lib import egress_proxy, networks, telemetry, thread_pools

_MAX_TRIED = 4
_lookups = threading.BoundedSemaphore(64)
_local = threading.local()


@dataclass
class Call:
    """A request under way in this thread.

    ``deadline``: in seconds of the monotonic clock. ``budget``: how many bytes may still be read. ``sent``: whether any
    byte was sent.
    """

    deadline: float
    budget: int
    sent: bool = False

    def remaining(self) -> float:
        """Seconds left, more than 0. Raises ``Unreachable`` when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self.late()
        return left

    def late(self) -> Unreachable:
        return Unreachable("The other side took too long.", sent=self.sent)


def system_resolver(host: str, port: int) -> list[str]:
    """The addresses of ``host`` in the order in which to try them. Raises OSError."""
    if host.endswith(".localhost"):  # of this machine by definition, though not every resolver knows it (RFC 6761, 6.3)
        return ["127.0.0.1"]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


# Replaced by tests that need a name server with wrong answers.
resolver: Callable[[str, int], list[str]] = system_resolver


class Stream(httpcore2.NetworkStream):
    """A connected socket with the deadline and the byte budget of the call that uses it now."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        call: Call = _local.call
        if call.budget <= 0:
            raise Unreachable("The answer is too large.", sent=call.sent)
        try:
            self._sock.settimeout(call.remaining())
            data = self._sock.recv(min(max_bytes, call.budget))
        except TimeoutError:
            raise call.late() from None
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error
        call.budget -= len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call: Call = _local.call
        view = memoryview(buffer)
        try:
            while view:
                self._sock.settimeout(call.remaining())
                call.sent = True
                view = view[self._sock.send(view) :]
        except TimeoutError:
            raise call.late() from None
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        call: Call = _local.call
        try:
            self._sock.settimeout(call.remaining())
            # An answer without a length ends with the connection, which anybody on the network can cut: the other side
            # must say that it is the end (RFC 9112, 9.8).
            return Stream(
                ssl_context.wrap_socket(self._sock, server_hostname=server_hostname, suppress_ragged_eofs=False)
            )
        except (Unreachable, TimeoutError):
            self.close()
            raise call.late() from None
        except OSError as error:
            self.close()
            raise httpcore2.ConnectError(str(error)) from error

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        if info != "is_readable":
            return None
        # On an idle connection something to read means that the other side has closed it.
        if self._sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))


class Backend(httpcore2.NetworkBackend):
    """Opens connections to checked addresses only."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Stream:
        return Stream(connect(host, port, _local.call))


def connect(host: str, port: int, call: Call) -> socket.socket:
    """Connect to a checked address of ``host``, or to ``host`` through the egress proxy, by the call's deadline.

    All connections are made here. Raises ``Refused`` and ``Unreachable``.
    """
    found = _addresses(host, port, call)
    if not isinstance(found, egress_proxy.EgressProxy):
        return _dial(found, port, call)
    # Where the proxy is, the operator says: its address is not judged.
    at = [found.host] if destinations.literal(found.host) else _look_up(found.host, found.port, call)
    sock = _dial(at, found.port, call)
    try:
        egress_proxy.open_tunnel(sock, found, host, port, remaining=call.remaining)
    except egress_proxy.ProxyRefused as error:
        sock.close()
        raise Unreachable(str(error)) from None
    except (OSError, Unreachable):
        sock.close()
        call.remaining()
        raise Unreachable("The egress proxy broke off.") from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _dial(found: list[str], port: int, call: Call) -> socket.socket:
    tried = found[:_MAX_TRIED]
    for untried, address in zip(range(len(tried), 0, -1), tried, strict=True):
        timeout = call.remaining() / untried
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout)
            sock.connect((address, port))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reached = sock.getpeername()[0]
        except OSError:
            sock.close()
            continue
        if ip_address(reached) != ip_address(address):
            sock.close()
            raise Refused("The connection ended up at another address.")
        return sock
    call.remaining()
    raise Unreachable("No connection could be made.")


def judged(host: str, port: int, call: Call) -> list[str]:
    """The addresses of ``host``. Raises ``Refused`` if any of them is not permitted, and ``Unreachable``."""
    rules = policy()
    found = [host] if destinations.literal(host) else _look_up(host, port, call)
    near = rules.allow_loopback and is_loopback_name(host)
    for address in map(ip_address, found):
        if not (destinations.loopback(address) if near else destinations.reachable(address, port, rules)):
            raise Refused("The name leads to an address that is not on the public internet.")
    return found


def _addresses(host: str, port: int, call: Call) -> list[str] | egress_proxy.EgressProxy:
    """The addresses to connect to, or the proxy that makes the connection. Raises ``Refused`` and ``Unreachable``.

    If there is a proxy, it gets all requests except those to this machine and to allowed networks. Names are then
    looked up here only if networks are allowed. A name with a private address that is not allowed is refused; a public
    name that cannot be resolved here is left to the proxy.
    """
    rules = policy()
    if rules.proxy is None or (rules.allow_loopback and is_loopback_name(host)):
        return judged(host, port, call)
    if not destinations.literal(host) and not rules.networks:
        return rules.proxy
    try:
        found = judged(host, port, call)
    except Unreachable:
        call.remaining()
        if port in networks.PORTS and not destinations.is_private_name(host):
            return rules.proxy
        raise
    return found if all(destinations.within(ip_address(each), port, rules) for each in found) else rules.proxy


def _look_up(host: str, port: int, call: Call) -> list[str]:
    """getaddrinfo has no timeout, so it runs in a thread, which is abandoned if the deadline comes first."""
    if not _lookups.acquire(timeout=call.remaining()):
        raise call.late()
    answer: Future[list[str]] = Future()
    threading.Thread(target=_answer, args=(answer, host, port), name="dns", daemon=True).start()
    try:
        found = answer.result(call.remaining())
    except TimeoutError:
        raise call.late() from None
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise Unreachable("The name could not be resolved.")
    return found


def _answer(answer: Future[list[str]], host: str, port: int) -> None:
    try:
        answer.set_result(resolver(host, port))
    except (OSError, UnicodeError) as error:
        answer.set_exception(error)
    finally:
        _lookups.release()


HEADER_BYTES = 32 * 1024
IDLE_SECONDS = 4.0  # below the five seconds after which common servers hang up
_IDLE_CONNECTIONS = 64
_CHUNK_OVERHEAD = 8  # a chunk of one byte is six on the wire

# At DEBUG httpcore2 writes every response header into the log, and a header may carry a secret.
logging.getLogger("httpcore2").setLevel(logging.INFO)


def body_budget(limit: int) -> int:
    """How many bytes may come for a body of ``limit`` bytes."""
    return limit * _CHUNK_OVERHEAD + HEADER_BYTES


@dataclass(frozen=True)
class Reply:
    """``headers``: names in lower case, repeated ones joined with ", ". ``body``: complete, as it was sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self, *, any_text: bool = False) -> Any:
        """The body as strict JSON. For ``any_text`` and what raises ValueError see ``strict_json.loads``."""
        return strict_json.loads(self.body, any_text=any_text)


class Pool:
    """The connections of this process. A forked child gets new ones, because it must not use its parent's sockets."""

    def __init__(self) -> None:
        self.tls = httpcore2.default_ssl_context()
        self.renew()

    def close(self) -> None:
        """Closes all connections. The next request opens a new one."""
        former = self.connections
        self.renew()
        former.close()

    def renew(self) -> None:
        self.tls.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # which Python sets before 3.11.3
        self.connections = httpcore2.ConnectionPool(
            ssl_context=self.tls,
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=Backend(),
        )

    def trust(self, cafile: str) -> None:
        """Also trusts the authorities in ``cafile`` (PEM), besides those of the system."""
        self.tls.load_verify_locations(cafile)


pool = Pool()
trust = pool.trust
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

    ``deadline``: seconds for everything from the name look-up to the last byte. ``limit``: the most bytes of body that
    are read. Raises ``Refused`` (nothing was sent) and ``Unreachable``. A 3xx is a reply like any other.
    """
    target = destinations.check_url(url)
    thread_pools.check(target.host)
    written = fields(target, headers or {}, method, body)
    address = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    call = Call(time.monotonic() + deadline, HEADER_BYTES)
    _local.call = call  # the one that this thread's sockets obey
    try:
        with (
            telemetry.span(method, kind="client", http_request_method=method, server_address=target.host) as span,
            pool.connections.stream(method, address, headers=written, content=body) as response,
        ):
            span.note(http_response_status_code=response.status)
            call.budget = body_budget(limit)
            folded: dict[str, str] = {}
            for raw_name, raw_value in response.headers:
                name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
                folded[name] = f"{folded[name]}, {value}" if name in folded else value
            received = bytearray()
            for chunk in response.iter_stream():
                received += chunk
                if len(received) > limit:
                    raise Unreachable("The answer is too large.", sent=call.sent)
            return Reply(response.status, folded, bytes(received))
    except httpcore2.LocalProtocolError:
        raise Refused("The request cannot be written as HTTP.") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException):
        raise Unreachable("The other side broke off or does not speak HTTP.", sent=call.sent) from None
    finally:
        del _local.call


def fields(
    target: destinations.Target, given: Mapping[str, str], method: str, body: bytes
) -> list[tuple[bytes, bytes]]:
    fixed = {"host": target.authority, "accept-encoding": "identity"}
    if body or method not in ("GET", "HEAD"):
        fixed["content-length"] = str(len(body))
    merged = {"user-agent": "elicit-flows"} | {name.lower(): value for name, value in given.items()} | fixed
    try:
        return [(name.encode("ascii"), value.encode("latin-1")) for name, value in merged.items()]
    except UnicodeEncodeError:
        raise Refused("The request cannot be written as HTTP.") from None
