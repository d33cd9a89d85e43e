"""Sockets that go only where they may and end when they must.

A name is resolved once, every address it has is judged, and the very address that was judged is dialled; so a name
that changes its mind between check and use gains nothing (T90). Each read and write gets only what is left of the
call's one deadline, so an answer that drips is cut there (T92).
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import httpcore2

from elicit_flows.lib.http import addresses
from elicit_flows.lib.http.errors import Refused, Unreachable
from elicit_flows.lib.http.policy import policy
from elicit_flows.lib.http.urls import is_loopback_name

_MAX_TRIED = 4
_lookups = threading.BoundedSemaphore(64)
_local = threading.local()


@dataclass
class Call:
    """One request under way in this thread: when it ends (monotonic), how many bytes may still come, what went out."""

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


@contextlib.contextmanager
def calling(call: Call) -> Iterator[None]:
    """Makes ``call`` the one that this thread's sockets obey."""
    _local.call = call
    try:
        yield
    finally:
        del _local.call


def system_resolver(host: str, port: int) -> list[str]:
    """The addresses of ``host`` in the order in which to try them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


# Replaced by tests that need a name server which lies.
resolver: Callable[[str, int], list[str]] = system_resolver


class Stream(httpcore2.NetworkStream):
    """A connected socket under the deadline and the byte budget of whichever call uses it now."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        call: Call = _local.call
        if call.budget <= 0:
            raise Unreachable("The answer is too large.", sent=call.sent)
        with _mapped(call, httpcore2.ReadError):
            self._sock.settimeout(call.remaining())
            data = self._sock.recv(min(max_bytes, call.budget))
        call.budget -= len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call: Call = _local.call
        view = memoryview(buffer)
        with _mapped(call, httpcore2.WriteError):
            while view:
                self._sock.settimeout(call.remaining())
                call.sent = True
                view = view[self._sock.send(view) :]

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        call: Call = _local.call
        try:
            with _mapped(call, httpcore2.ConnectError):
                self._sock.settimeout(call.remaining())
                return Stream(ssl_context.wrap_socket(self._sock, server_hostname=server_hostname))
        except (Unreachable, httpcore2.ConnectError):
            self.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        return _readable(self._sock) if info == "is_readable" else None


class Backend(httpcore2.NetworkBackend):
    """Opens connections to judged addresses only."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Stream:
        call: Call = _local.call
        found = judged(host, port, call)[:_MAX_TRIED]
        for untried, address in zip(range(len(found), 0, -1), found, strict=True):
            try:
                return Stream(_connect(address, port, call.remaining() / untried))
            except OSError:
                continue
        call.remaining()
        raise Unreachable("No connection could be made.")


def judged(host: str, port: int, call: Call) -> list[str]:
    """The addresses of ``host``; raises ``Refused`` when even one of them is not where we may go."""
    found = [host] if addresses.literal(host) else _look_up(host, port, call)
    near = policy().allow_loopback and is_loopback_name(host)
    allowed = addresses.loopback if near else addresses.public
    if not all(allowed(ip_address(each)) for each in found):
        raise Refused("The name leads to an address that is not on the public internet.")
    return found


def _look_up(host: str, port: int, call: Call) -> list[str]:
    """getaddrinfo takes no time-out, so it runs in a thread that is left behind when the deadline comes first."""
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


def _connect(address: str, port: int, timeout: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout)
        sock.connect((address, port))
        _check_peer(sock, address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, Refused):
        sock.close()
        raise
    return sock


def _check_peer(sock: socket.socket, address: str) -> None:
    if ip_address(sock.getpeername()[0]) != ip_address(address):
        raise Refused("The connection ended up at another address.")


@contextlib.contextmanager
def _mapped(call: Call, lost: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise call.late() from None
    except OSError as error:
        raise lost(str(error)) from error


def _readable(sock: socket.socket) -> bool:
    """On an idle connection something to read means that the other side has closed it."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
