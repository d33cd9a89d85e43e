from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from elicit_flows.models import Provider
from tests.api.described import Described
from tests.support import rows
from tests.support.rows import Known
from tests.support.serving import Served

BESIDE = ("/v1/docs", "/v1/openapi.json")  # pages about the API


@pytest.fixture
def described(served: Served) -> Described:
    return Described.at(served.url)


@pytest.fixture
def drive_row(served: Served) -> Provider:
    """A provider that agents may name; nobody talks to it."""
    return rows.provider()


@pytest.fixture
def known(drive_row: Provider) -> Known:
    """An agent that nobody used before."""
    return rows.agent()


@pytest.fixture
def new_client(served: Served, described: Described) -> Iterator[Callable[..., httpx2.Client]]:
    """The API as an agent: ``new_client(known)``. Every answer must be one that the description has."""

    def check(response: httpx2.Response) -> None:
        path = response.request.url.path
        if path in BESIDE or not path.startswith("/v1/") or response.request.method == "HEAD":
            return
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.read()
            described.check(response)

    with ExitStack() as stack:

        def make(who: Known, **options: Any) -> httpx2.Client:
            return stack.enter_context(who.client(served.url, event_hooks={"response": [check]}, **options))

        yield make


@pytest.fixture
def api(known: Known, new_client: Callable[..., httpx2.Client]) -> httpx2.Client:
    return new_client(known)


@pytest.fixture
def stranger(drive_row: Provider, new_client: Callable[..., httpx2.Client]) -> httpx2.Client:
    """The API as another agent."""
    return new_client(rows.agent())


@pytest.fixture
def postgres_client(on_postgres: str, serve: Callable[..., Served]) -> Iterator[httpx2.Client]:
    """The API as an agent, with everything in a PostgreSQL database of the test's own."""
    served = serve()
    rows.provider()
    with rows.agent(webhook_url="http://127.0.0.1:9/hooks").client(served.url) as api:
        yield api
