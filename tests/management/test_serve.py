"""`manage.py serve` as clients meet it."""

from __future__ import annotations

import http.client
import time
from urllib.parse import urlsplit

import pytest

from tests.support.box import Box

pytestmark = pytest.mark.slow

# Longer than uvicorn keeps a silent connection by itself, and than httpx's and Node's clients use one again.
SILENCE = 6.0


def test_a_client_that_comes_back_to_a_silent_connection_is_answered(embedded_box: Box) -> None:
    """A client cannot tell a server that closes the connection just then from a crash."""
    at = urlsplit(embedded_box.url)
    kept = http.client.HTTPConnection(at.hostname or "", at.port, timeout=10)
    kept.request("GET", "/healthz")
    kept.getresponse().read()
    first = kept.sock.getsockname()
    time.sleep(SILENCE)
    kept.request("GET", "/healthz")
    assert kept.getresponse().status == 200
    assert kept.sock.getsockname() == first, "on the same connection"
    kept.close()
