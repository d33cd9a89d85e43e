"""Agents call a provider's API through the service, which adds the credential (api/streaming/api_proxy.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from elicit_flows import vault
from elicit_flows.models import Connection, ConnectionCall, ConnectionUse
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.policy import loopback_allowed
from tests.doubles.server import Request, Response, Server, json_response
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served


class Api(Server):
    """A provider's API: it answers every path with what it was asked."""

    def respond(self, request: Request) -> Response:
        with self.lock:
            self.requests.append((request.path, request))
        scripted = self.scripted.get(request.path)
        if isinstance(scripted, Response):
            return scripted
        if scripted:
            return scripted(request)
        return json_response({"path": request.path, "query": request.query, "method": request.method})


@pytest.fixture
def upstream() -> Iterator[Api]:
    with Api() as running, loopback_allowed():
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


def at(row: Connection, path: str = "") -> str:
    return f"/v1/connections/{row.pk}/proxy{path}"


def token_of(row: Connection) -> str:
    secret = vault.connections.opened(row, "access_token")
    return secret.reveal() if secret else ""


def test_a_call_gets_the_token_and_the_answer_comes_back(agent: httpx2.Client, held: Connection, upstream: Api) -> None:
    answer = agent.get(at(held, "/me?fields=id%2Cname"))
    assert answer.status_code == 200
    assert answer.json() == {"path": "/v2/me", "query": {"fields": "id,name"}, "method": "GET"}
    assert answer.headers["elicit-answered-by"] == upstream.url.removeprefix("http://")
    [(_, seen)] = upstream.requests
    assert seen.headers["authorization"] == f"Bearer {token_of(held)}"
