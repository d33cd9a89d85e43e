"""M6, M8, M11: what one agent or one stranger could use up of what all share."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.test import Client
from pytest_django import Settings

from elicit_flows.identity import ACCESS
from elicit_flows.lib import limits
from elicit_flows.models import IdentityProvider
from tests.doubles.policy import loopback_allowed
from tests.doubles.raw import Listener
from tests.management import conftest as management
from tests.management.files import SMALL, Operator
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served

operator = management.operator
HUNG = 6  # calls of one agent: more than there were threads for quick calls
AT_ONCE = 3.0  # seconds that a call of somebody else may take on a busy machine; a provider may take five


@pytest.fixture
def silent() -> Iterator[Listener]:
    """An identity provider that takes connections and never answers."""

    def never(connection: socket.socket) -> None:
        listener.over.wait(60)

    listener = Listener(never)
    with loopback_allowed():
        yield listener
    listener.close()


def exchange(served: Served, agent: Known) -> httpx2.Response:
    """A user's token that its identity provider has to be asked about."""
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "opaque",
        "subject_token_type": ACCESS,
        "audience": "drive",
    }
    with agent.client(served.url) as client:
        return client.post("/v1/token", data=form)


def test_t124_token_exchanges_that_hang_hold_up_nobody_else(served: Served, silent: Listener) -> None:
    """They ran in the few threads of the calls that ask nobody outside, health checks among them."""
    rows.provider()
    greedy = rows.agent()
    away = IdentityProvider.objects.create(
        slug="silent", issuer=silent.url.rstrip("/"), client_id="elicit", introspect=True
    )
    greedy.row.identity_providers.set([away])
    with ThreadPoolExecutor(HUNG) as pool:
        calls = [pool.submit(exchange, served, greedy) for _ in range(HUNG)]
        until(lambda: silent.connections > 0, "the identity provider is asked")
        time.sleep(0.5)
        began = time.monotonic()
        with httpx2.Client(base_url=served.url, trust_env=False, timeout=30) as nobody:
            assert nobody.get("/healthz").status_code == 200
        took = time.monotonic() - began
        silent.close()
        assert all(call.result(60).status_code >= 400 for call in calls)
    assert took < AT_ONCE


def test_t126_ten_thousand_other_names_do_not_push_a_count_out() -> None:
    """The cache in memory forgot all but 300 names."""
    while limits.hit("operator-name:root", 10, 300):
        pass
    for number in range(10_000):
        limits.hit(f"operator-name:junk-{number}", 10, 300)
    assert limits.hit("operator-name:root", 10, 300) is False


def test_t127_who_has_a_whole_network_to_choose_from_is_counted_once(committed: None) -> None:
    """Twenty codes a minute may be typed from one address. A provider of internet access gives out a /64 at least."""
    statuses = [
        Client().post("/device", {"code": "BCDF-GHJK"}, REMOTE_ADDR=f"2001:db8:1:2::{number:x}").status_code
        for number in range(1, 51)
    ]
    assert set(statuses) == {422, 429}


def test_t124_one_agent_may_ask_so_often_a_minute(served: Served, settings: Settings) -> None:
    """No setting held it back, and no answer told of a limit."""
    settings.ELICIT_AGENT_REQUESTS_PER_MINUTE = 6
    with rows.agent().client(served.url) as greedy:
        statuses = [greedy.get("/v1/elicitations").status_code for _ in range(7)]
    assert statuses == [200, 200, 200, 200, 200, 200, 429]


def test_t124_an_agent_may_have_a_limit_of_its_own(operator: Operator) -> None:
    """There was nothing that an operator could have said."""
    ran = operator.apply(SMALL + "requests_per_minute = 2\n")
    assert not ran.failed, ran.said[0]
