"""A provider's API, and an agent that calls it through the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from elicit_flows import vault
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import api_access
from tests.doubles.policy import loopback_allowed
from tests.doubles.server import Request, Response, Server, json_response
from tests.support import rows
from tests.support.rows import Known
from tests.support.serving import Served


class Api(Server):
    """Answers every path with what it was asked. ``host``: its name and port."""

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def respond(self, request: Request) -> Response:
        with self.lock:
            self.requests.append((request.path, request))
        scripted = self.scripted.get(request.path)
        if isinstance(scripted, Response):
            return scripted
        if scripted:
            return scripted(request)
        return json_response({"path": request.path, "query": request.query, "method": request.method})

    @property
    def last(self) -> Request:
        return self.requests[-1][1]


@pytest.fixture
def upstream() -> Iterator[Api]:
    with Api() as running, loopback_allowed():
        api_access._providers.clear()
        yield running


@pytest.fixture
def drive(served: Served, upstream: Api) -> ProviderRow:
    return rows.provider(api_urls=[f"{upstream.url}/v2"])


@pytest.fixture
def known(drive: ProviderRow) -> Known:
    return rows.agent()


@pytest.fixture
def held(known: Known, drive: ProviderRow) -> Connection:
    return rows.connection(known, drive)


@pytest.fixture
def agent(known: Known, served: Served) -> Iterator[httpx2.Client]:
    with known.client(served.url) as client:
        yield client


@pytest.fixture
def token(held: Connection) -> str:
    secret = vault.connections.opened(held, "access_token")
    return secret.reveal() if secret else ""


@pytest.fixture
def at(held: Connection) -> Callable[[str], str]:
    """The address at the service for a path of the API."""
    return lambda path: f"/v1/connections/{held.pk}/proxy{path}"
