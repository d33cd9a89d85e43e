"""T129: an agent's endpoint that hangs delays only deliveries to this agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cast import ALICE, program
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.payments.test_hints import go_away
from tests.payments.till import LONG_AGO, Till
from tests.support import box_config, box_settings, rows
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

DUE, OVERDUE = 8, 5
GIVE_UP = 25.0  # seconds; what waits for the hanging sends waits for more
BUSY = 5.0  # seconds that a busy machine may take on top
SETTLED_IN = 4.0  # seconds for which the endpoint has hung: every place that it can take is taken
DUE_NOW = "UPDATE elicit_flows_connection SET refresh_due_at = %s, expires_at = %s, issued_at = %s"
AT = "provider_id = (SELECT id FROM elicit_flows_provider WHERE slug = %s)"


@dataclass
class Installation:
    """A box, and what is due there for others than the agent whose endpoint hangs."""

    box: Box
    till: Till
    hanging: AgentClient
    owner: AgentClient  # of the connections
    double: Provider
    sink: Sink

    def confirm(self, agent: AgentClient) -> str:
        body = {"kind": "confirm", "subject": ALICE.subject(self.till.corp.issuer), "message": "May I?", "params": {}}
        answer = agent.post("/v1/elicitations", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def connect(self, number: int) -> None:
        given = rows.grant(self.double)
        assert given.refresh_token
        self.bring(
            provider="double", account={"id": f"account-{number}-{time.monotonic_ns()}"},
            access_token=given.access_token.reveal(), refresh_token=given.refresh_token.reveal(),
            expires_at="2030-01-01T00:00:00Z",
        )  # fmt: skip

    def bring(self, **tokens: Any) -> None:
        """A connection of tokens that are there already."""
        body = {"subject": ALICE.subject(self.till.corp.issuer), **tokens}
        answer = self.owner.post("/v1/connections", json=body)
        assert answer.status_code == 201, answer.text

    def count(self, table: str, where: str, *values: object) -> int:
        return int(self.till.sql(f"SELECT count(*) FROM elicit_flows_{table} WHERE {where}", *values)[0][0])


@pytest.fixture(scope="module", params=["embedded", "full"])
def own_box(request: pytest.FixtureRequest, new_box: Callable[..., Box]) -> Iterator[Box]:
    box = new_box(request.param)
    yield box
    box.remove()


@pytest.fixture
def installation(own_box: Box, new_till: Callable[..., Till], corp: Op, sink: Sink) -> Iterator[Installation]:
    with Provider() as double:
        at = double.url
        table = {
            "slug": "double", "name": "Double", "client_id": double.client_id, "client_secret": double.client_secret,
            "authorize_url": f"{at}/authorize", "token_url": f"{at}/token", "scopes": ["files.read"],
        }  # fmt: skip
        owner = program(f"owner-{own_box.ports[0]}")
        own_box.programs[owner.slug] = owner
        own_box.apply({"provider": [table], "agent": [box_config.agent(owner, import_connections=True)]})
        till, hanging = new_till(own_box), own_box.fresh_agent()
        yield Installation(own_box, till, hanging, own_box.agent(owner.slug), double, sink)


@contextmanager
def asking(here: Installation) -> Iterator[None]:
    """One create a second by the agent whose endpoint hangs."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(1.0):
            here.confirm(here.hanging)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def took(here: Installation, user: HttpUser) -> dict[str, float]:
    """Seconds until each of the things that fall due now is done."""
    paid = here.till.ask()
    here.till.at_stripe(user, paid)
    for number in range(DUE):
        here.connect(number)
    overdue = [here.confirm(here.till.agent) for _ in range(OVERDUE)]
    before = here.double.calls["token"]
    began = time.monotonic()
    here.till.sql(f"{DUE_NOW} WHERE {AT}", *[LONG_AGO] * 3, "double")
    for one in overdue:
        here.till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", LONG_AGO, one)
    go_away(here.till, user)
    told = here.confirm(here.till.agent)
    ids = ",".join(f"'{one}'" for one in overdue)
    done: dict[str, Callable[[], Any]] = {
        "refreshed": lambda: here.double.calls["token"] >= before + DUE,
        "expired": lambda: here.count("elicitation", f"status = 'expired' AND id IN ({ids})") == OVERDUE,
        "paid": lambda: here.count("elicitation", "status = 'completed' AND id = %s", paid["id"]) == 1,
        "told": lambda: here.sink.wait_for_event(f"/{here.till.agent.slug}", "elicitation.created", told, timeout=0.1),
    }
    found: dict[str, float] = {}
    while done and time.monotonic() < began + GIVE_UP:
        for name in [name for name, is_done in done.items() if _true(is_done)]:
            found[name] = time.monotonic() - began
            del done[name]
        time.sleep(0.05)
    return found | dict.fromkeys(done, float("inf"))


def _true(asked: Callable[[], Any]) -> bool:
    try:
        return bool(asked())
    except AssertionError:  # the sink's: it has not come yet
        return False


@pytest.mark.limit(150)
def test_t129_an_endpoint_that_hangs_delays_nobody_else(
    installation: Installation, new_http_user: Callable[..., HttpUser]
) -> None:
    """Refreshes, expiry, a payment whose person closed the tab, and others' webhooks."""
    without = took(installation, new_http_user())
    installation.sink.hang(f"/{installation.hanging.slug}")
    with asking(installation):
        installation.sink.wait_for(f"/{installation.hanging.slug}", 2)
        time.sleep(SETTLED_IN)
        beside = took(installation, new_http_user())
    installation.sink.ok(f"/{installation.hanging.slug}")
    for what, seconds in beside.items():
        assert seconds < 1.5 * without[what] + box_settings.SWEEP_SECONDS + BUSY, (without, beside)


@pytest.mark.limit(120)
def test_t129_a_token_endpoint_that_hangs_delays_its_own_connections_alone(
    installation: Installation, new_http_user: Callable[..., HttpUser]
) -> None:
    """There are more of them than one round takes, and they are due first."""
    here = installation
    without = took(here, new_http_user())
    over = threading.Event()
    with ExitStack() as stack, Provider() as silent:
        stack.callback(over.set)

        def hang(_: Request) -> Response:
            over.wait()
            return Response(503)

        silent.scripted["token"] = hang
        table = {
            "slug": "silent", "name": "Silent", "client_id": silent.client_id, "client_secret": silent.client_secret,
            "authorize_url": f"{silent.url}/authorize", "token_url": f"{silent.url}/token", "scopes": ["files.read"],
        }  # fmt: skip
        here.box.apply({"provider": [table]})
        until(lambda: "silent" in here.owner.get("/v1/agent").text, "what the agent may use is looked up anew")
        for number in range(20):
            here.bring(provider="silent", refresh_token=f"rt-{number}", account={"id": f"silent-{number}"})
        here.till.sql(f"{DUE_NOW} WHERE {AT}", *[LONG_AGO] * 3, "silent")
        until(lambda: silent.calls["token"], "the silent one is being asked")
        beside = took(here, new_http_user())
    for what, seconds in beside.items():
        assert seconds < 1.5 * without[what] + box_settings.SWEEP_SECONDS + BUSY, (without, beside)
