"""Ports below the range that the kernel hands to clients, so that a server can come back on the port it had."""

from __future__ import annotations

import os
import random
import re
import socket

LOWEST, HIGHEST = 10_000, 32_767
_SHARES = 16
_given: set[int] = set()
_dice = random.SystemRandom()  # a seeded test must not steer it


def _share() -> int:
    """Which sixteenth of the ports is this process's: pytest-xdist's workers must not race for one port."""
    digits = re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or "0"
    return int(digits) % _SHARES


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on and that this process has not been given before."""
    for _ in range(1000):
        port = _dice.randrange(LOWEST - LOWEST % _SHARES + _share(), HIGHEST + 1, _SHARES)
        if port >= LOWEST and port not in _given and is_free(port):
            _given.add(port)
            return port
    raise RuntimeError(f"no free port from {LOWEST} to {HIGHEST}")
