"""The machine's certificates are read once in a test process: for every client anew takes longer than most requests."""

from __future__ import annotations

import functools

import httpcore2


def read_once() -> None:
    """Every client of httpx2 and httpcore2 that is told nothing else shares what was read."""
    httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)
