"""`manage.py serve` as clients meet it."""

from __future__ import annotations

import http.client
import time
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command

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


@pytest.mark.parametrize("port", ["65536", "-1", "0x50", ""])
def test_a_port_that_there_cannot_be_is_refused(port: str) -> None:
    """Otherwise the process would neither serve nor end."""
    with pytest.raises(CommandError, match="is no port: a whole number from 0 to 65535"):
        call_command("serve", f"--port={port}")
