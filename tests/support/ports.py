"""Ports below the range that the kernel hands to clients, so that a server can come back on the port it had.

A port is free until its server listens, which takes seconds. So one that was given is locked for all processes of the
tests on this machine, those of other runs too, until the process that it was given to has ended.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import IO

LOWEST, HIGHEST = 10_000, 32_767
_given: set[int] = set()
_dice = random.SystemRandom()  # a seeded test must not steer it


@cache
def _locks() -> IO[bytes]:
    """One byte for each port. The kernel forgets the locks of a process that ends, and also if it closes the file."""
    return Path(tempfile.gettempdir(), f"elicit-ports-{os.getuid()}").open("ab")


def _locked(port: int) -> bool:
    """Whether it could be locked: nobody else was given it."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on and that no process of the tests was given and may still use."""
    for _ in range(1000):
        port = _dice.randint(LOWEST, HIGHEST)
        if port not in _given and _locked(port) and is_free(port):
            _given.add(port)
            return port
    raise RuntimeError(f"no free port from {LOWEST} to {HIGHEST}")
