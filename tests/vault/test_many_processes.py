"""T80 with four server processes: a refresh is one call to the provider, whichever processes ask for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from django.conf import LazySettings
from pytest_django import DjangoDbBlocker

from elicit_flows.models import Agent, Connection
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.support import rows
from tests.support.box import Box
from tests.support.in_process import default_database
from tests.support.rows import Known
from tests.vault.test_own_client import own_house, typed

pytestmark = pytest.mark.slow

CALLERS = 50  # in each process


@pytest.fixture
def inside(several: Box, settings: LazySettings, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test process looks into the box's database, with its keys."""
    settings.ELICIT_VAULT_KEYS = several.env["ELICIT_VAULT_KEYS"]
    with default_database(several.database_url, django_db_blocker):
        yield


def connected(known: Known, double: Provider) -> Connection:
    return rows.connection(known, rows.provider(double, slug="t80"), rows.grant(double))


def typed_own_client(known: Known, double: Provider) -> Connection:
    return typed(known, own_house(double))


@pytest.mark.parametrize("made", [connected, typed_own_client])
def test_t80_four_processes_and_all_their_callers_are_one_refresh(
    several: Box, inside: None, double: Provider, made: Callable[[Known, Provider], Connection]
) -> None:
    agent = several.fresh_agent()
    held = made(Known(Agent.objects.get(slug=agent.slug), several.programs[agent.slug]), double)
    double.calls.clear()
    rows.expire(held)

    async def slowly_answered() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(headers=agent.headers, trust_env=False, timeout=50, limits=limits) as client:
            urls = [f"{url}/v1/connections/{held.pk}/token" for url in several.urls for _ in range(CALLERS)]
            return list(await asyncio.gather(*(client.post(url) for url in urls)))

    def answer(request: Request) -> Response:
        time.sleep(1.0)  # as a provider may: meanwhile all the others ask
        return double._token(request)

    double.scripted["token"] = answer
    answers = asyncio.run(slowly_answered())
    assert [answer.text for answer in answers if answer.status_code != 200] == []
    assert double.calls["token"] == 1
    assert len({answer.json()["access_token"] for answer in answers}) == 1
    assert Connection.objects.get(pk=held.pk).generation == 2
