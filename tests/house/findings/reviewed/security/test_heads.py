"""H2: a deadline stood over the head of a request, and no limit over its size."""

from __future__ import annotations

import asyncio

import pytest

from tests.lib.test_slow_requests import ask

HEAD = 65_536
FIRST = b"GET / HTTP/1.1\r\nhost: x\r\n"
ENDLESS = {
    "a header's value": FIRST + b"a: " + b"v" * 2 * HEAD,
    "a header's name": FIRST + b"n" * 2 * HEAD,
    "many headers": FIRST + b"a: b\r\n" * (HEAD // 3),
    "the path": b"GET /" + b"p" * 2 * HEAD,
    "a head that ends": FIRST + b"connection: close\r\na: " + b"v" * 2 * HEAD + b"\r\n\r\n",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_t123_a_head_beyond_64_kilobytes_is_refused(what: str) -> None:
    """It was read on and on, so that nothing came back; one that ended was answered with 200."""
    try:
        answer = asyncio.run(ask(ENDLESS[what], pause=0.2))
    except TimeoutError:
        answer = b"nothing: it reads on"
    assert answer.startswith(b"HTTP/1.1 431")
