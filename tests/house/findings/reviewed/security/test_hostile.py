"""L12, L18: requests that no browser sends were answered with 500, and each filled the log."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from config.logs import JsonFormatter
from tests.support import rows
from tests.support.serving import Served

UPGRADE = {
    "connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip
UTF7 = {"content-type": "text/plain; charset=utf-7"}
HOSTILE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "NUL in a form": ("POST", "/login", {"data": {"provider": "\0"}}),
    "NUL in another charset": ("GET", "/v1/elicitations?sub=%2BAAA-", {"headers": UTF7}),
    "half a pair in another charset": ("GET", "/v1/elicitations?sub=%2B2AA-", {"headers": UTF7}),
    "an upgrade": ("GET", "/account", {"headers": UPGRADE}),
}


@pytest.fixture
def asking(on_postgres: str, serve: Callable[..., Served]) -> Iterator[httpx2.Client]:
    """PostgreSQL refuses a text with NUL."""
    served = serve()
    rows.provider()
    with rows.agent().client(served.url) as client:
        yield client


@pytest.fixture
def written() -> Iterator[Callable[[], list[str]]]:
    """The lines that the service has written to its log, as it was set."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield lambda: stream.getvalue().splitlines()
    logging.getLogger().removeHandler(handler)
    handler.close()


def test_t138_no_hostile_request_is_answered_with_5xx(asking: httpx2.Client) -> None:
    asking.get("/account")
    asking.headers["x-csrftoken"] = asking.cookies["csrftoken"]
    failed = [
        what for what, (method, path, sent) in HOSTILE.items()
        if asking.request(method, path, **sent).status_code >= 500
    ]  # fmt: skip
    assert failed == []


def test_t138_a_hundred_bad_hosts_are_a_few_short_lines(
    asking: httpx2.Client, written: Callable[[], list[str]]
) -> None:
    for number in range(100):
        assert asking.get("/account", headers={"host": f"evil-{number}.example"}).status_code == 400
    lines = [line for line in written() if json.loads(line)["logger"] != "uvicorn.access"]
    assert len(lines) <= 20
