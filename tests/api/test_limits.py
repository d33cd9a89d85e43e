"""T124: no agent and no slow provider can use up what the others need. Every agent is told what it has left."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
from django.conf import LazySettings

from elicit_flows import vault
from elicit_flows.api import auth, rate_limits
from elicit_flows.domain.values import Secret
from elicit_flows.identity import ACCESS
from elicit_flows.models import Agent, IdentityProvider, Provider
from tests.doubles.policy import loopback_allowed
from tests.doubles.raw import Listener, listening
from tests.support import rows
from tests.support.machine import within
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

pytestmark = pytest.mark.slow

HUNG = 6  # calls of one agent: more than its share of the threads
AT_ONCE = 3.0  # seconds that a call of somebody else may take on a busy machine; a provider may take ten


def never(listener: Listener, connection: socket.socket) -> None:
    """Listens, and says nothing."""
    listener.over.wait(60)


def silent_provider(silent: Listener) -> Provider:
    row = rows.provider(slug="silent")
    row.token_url = f"{silent.url}token"
    vault.seal_client_secret(row, Secret("s3cret"))  # for that host
    row.save()
    return row


@pytest.fixture
def silent() -> Iterator[Listener]:
    """A provider that takes connections and never answers."""
    with loopback_allowed(), listening(never) as listener:
        yield listener


class Hung:
    """Calls that hang at a provider, until the test is over."""

    def __init__(self, served: Served, silent: Listener) -> None:
        self.served, self.silent = served, silent
        self._pool = ThreadPoolExecutor(3 * HUNG)
        self.calls: list[Future[httpx2.Response]] = []

    def tokens(self, *agents: Known) -> None:
        """Each fetches tokens that have to be refreshed at the silent provider."""
        at = silent_provider(self.silent)
        before = self.silent.connections
        for one in agents:
            held = rows.connection(one, at)
            rows.expire(held)
            self._send(one, f"/v1/connections/{held.pk}/token")
        until(lambda: self.silent.connections > before, "the provider is asked")

    def exchanges(self, agent: Known) -> None:
        """A user's token that its identity provider has to be asked about, which does not answer."""
        issuer = self.silent.url.rstrip("/")
        away = IdentityProvider.objects.create(slug="silent", issuer=issuer, client_id="elicit", introspect=True)
        agent.row.identity_providers.set([away])
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": "opaque",
            "subject_token_type": ACCESS,
            "audience": "drive",
        }
        self._send(agent, "/v1/token", data=form)
        until(lambda: self.silent.connections > 0, "the identity provider is asked")

    def _send(self, agent: Known, path: str, **content: object) -> None:
        def call() -> httpx2.Response:
            with agent.client(self.served.url) as client:
                return client.post(path, **content)

        self.calls += [self._pool.submit(call) for _ in range(HUNG)]
        time.sleep(0.5)

    def let_go(self) -> None:
        self.silent.close()
        for one in self.calls:
            one.result(60)
        self._pool.shutdown()


@pytest.fixture
def hung(served: Served, silent: Listener) -> Iterator[Hung]:
    rows.provider()
    calls = Hung(served, silent)
    yield calls
    calls.let_go()


def others_go_on(url: str, agent: Known) -> None:
    """Another agent's quick call and its fetching of a token, a person's page, and the health checks."""
    with agent.client(url) as client:
        asked = timed(lambda: client.post("/v1/elicitations", json=question()))
        assert asked.status_code == 201
        held = rows.connection(agent, rows.provider(slug="quick"))
        assert timed(lambda: client.post(f"/v1/connections/{held.pk}/token")).status_code == 200
    with httpx2.Client(base_url=url, trust_env=False, timeout=30) as nobody:
        for path in ("/healthz", "/readyz", f"/c/{asked.json()['id']}", "/catalogue"):
            assert timed(lambda path=path: nobody.get(path)).status_code == 200, path


def timed(call: Callable[[], httpx2.Response]) -> httpx2.Response:
    began = time.monotonic()
    answer = call()
    assert time.monotonic() - began < within(AT_ONCE), answer.request.url
    return answer


@pytest.mark.limit(120)
def test_t124_token_exchanges_that_hang_hold_up_nobody_else(hung: Hung) -> None:
    hung.exchanges(rows.agent())
    others_go_on(hung.served.url, rows.agent())


@pytest.mark.limit(120)
def test_t124_three_agents_whose_provider_hangs_hold_up_no_fourth(hung: Hung) -> None:
    hung.tokens(rows.agent(), rows.agent(), rows.agent())
    others_go_on(hung.served.url, rows.agent())


@pytest.mark.limit(120)
def test_t124_buttons_that_hang_hold_up_no_other_page(hung: Hung, serve: Callable[..., Served]) -> None:
    """People whose identity provider hangs use up only the threads for their address."""
    IdentityProvider.objects.create(slug="silent", issuer=hung.silent.url.rstrip("/"), client_id="elicit")
    pages = ExitStack()
    with pages:
        pool = pages.enter_context(ThreadPoolExecutor(HUNG))
        pages.callback(hung.silent.close)
        for _ in range(HUNG):
            pool.submit(_sign_in, hung.served.url)
        until(lambda: hung.silent.connections > 0, "the identity provider is asked")
        time.sleep(0.5)
        others_go_on(hung.served.url, rows.agent())


def _sign_in(url: str) -> None:
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as browser:
        browser.get("/account")
        token = browser.cookies["csrftoken"]
        browser.post("/login", data={"provider": "silent", "csrfmiddlewaretoken": token})


@pytest.fixture
def small(committed: None, settings: LazySettings, serve: Callable[..., Served]) -> Served:
    """Six requests a minute, three under way."""
    settings.ELICIT_AGENT_REQUESTS_PER_MINUTE, settings.ELICIT_AGENT_IN_FLIGHT = 6, 3
    rows.provider()
    return serve()


def left(answer: httpx2.Response) -> tuple[int, int]:
    assert 1 <= int(answer.headers["ratelimit-reset"]) <= 60
    return int(answer.headers["ratelimit-limit"]), int(answer.headers["ratelimit-remaining"])


def test_t124_one_agent_may_ask_so_often_a_minute(small: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.3]  # 100.3 + 60 - 100.3 is more than 60 in binary
    monkeypatch.setattr(rate_limits, "monotonic", lambda: now[0])
    one, other = rows.agent(), rows.agent()
    with one.client(small.url) as greedy, other.client(small.url) as modest:
        answers = [
            greedy.post("/v1/elicitations", json=question()),
            greedy.get("/v1/elicitations"),
            greedy.get("/v1/elicitations/none"),
            greedy.post("/v1/elicitations", json=[]),
            greedy.get("/v1/events?wait=0"),
            greedy.get("/v1/nothing"),
        ]
        assert [answer.status_code for answer in answers] == [201, 200, 404, 400, 200, 404]
        assert [left(answer) for answer in answers] == [(6, number) for number in (5, 4, 3, 2, 1, 0)]
        for path in ("/v1/elicitations", "/v1/events?wait=1", "/v1/connections/none/token"):
            refused = greedy.request("POST" if "token" in path else "GET", path)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"]
            assert left(refused) == (6, 0)
        assert modest.get("/v1/elicitations").status_code == 200, "another agent has a minute of its own"
        now[0] += 61
        assert left(greedy.get("/v1/elicitations")) == (6, 5)


def test_t124_streams_say_what_is_left_too(small: Served) -> None:
    with (
        rows.agent().client(small.url) as client,
        client.stream("GET", "/v1/events", headers={"accept": "text/event-stream"}) as stream,
    ):
        assert left(stream) == (6, 5)


def test_t124_an_agent_may_have_a_limit_of_its_own(small: Served) -> None:
    with rows.agent(requests_per_minute=2).client(small.url) as client:
        statuses = [client.get("/v1/elicitations").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_t124_a_limit_that_was_changed_holds_at_once(small: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth.remembered, "seconds", 0.0)
    one = rows.agent(requests_per_minute=2)
    with one.client(small.url) as client:
        client.get("/v1/elicitations")
        Agent.objects.filter(pk=one.row.pk).update(requests_per_minute=100)
        client.get("/v1/elicitations")
        assert left(client.get("/v1/elicitations")) == (100, 97)


def test_a_limit_that_was_lowered_leaves_nothing_and_not_less() -> None:
    limits = rate_limits.RateLimits(in_flight=1)
    for _ in range(5):
        limits.take(1, 10)
    lowered = limits.take(1, 2)
    assert (lowered.limit, lowered.remaining, lowered.refused) == (2, 0, True)


def test_a_wrong_key_is_told_of_no_limit(small: Served) -> None:
    with httpx2.Client(base_url=small.url, trust_env=False) as nobody:
        refused = nobody.get("/v1/elicitations", headers={"authorization": "Bearer wrong"})
    assert refused.status_code == 401
    assert "ratelimit-limit" not in refused.headers


@pytest.mark.limit(120)
def test_t124_one_agent_may_have_so_many_calls_under_way(small: Served, silent: Listener) -> None:
    one = rows.agent(requests_per_minute=1000)
    held = rows.connection(one, silent_provider(silent))
    rows.expire(held)
    with ThreadPoolExecutor(3) as pool, one.client(small.url) as client:
        assert client.get("/v1/elicitations").status_code == 200
        waiting = [pool.submit(client.post, f"/v1/connections/{held.pk}/token") for _ in range(3)]
        until(lambda: silent.connections > 0, "the provider is asked")
        time.sleep(0.3)
        refused = timed(lambda: client.get("/v1/elicitations"))
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert refused.headers["retry-after"] == "1"
        assert client.get("/v1/events?wait=1").status_code == 200, "what waits is counted apart"
        silent.close()
        assert all(one.result(60).status_code != 429 for one in waiting)
        assert client.get("/v1/elicitations").status_code == 200
