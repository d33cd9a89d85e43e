"""T27 at length: callbacks, cancel, decline and expiry of one elicitation, in many orders, on PostgreSQL."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from django.db import connections

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import AlreadyOver, BadCallback, Over, StartAgain
from elicit_flows.domain.status import TERMINAL
from elicit_flows.domain.values import Answer, Claim, Question, Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Connection, Elicitation, Event, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, Route, json_response

pytestmark = pytest.mark.slow

RUNS = 200
ACTORS = 5
ISSUER = "https://idp.example.com"
REPLIES = [None] * 6 + [json_response({"error": "invalid_client"}, 401), json_response({}, 503)]
EXPECTED = (AlreadyOver, BadCallback, Over, StartAgain)


@dataclass
class Run:
    """One elicitation of one person, at the provider and about to come back."""

    seed: int
    agent: Agent
    provider: Provider
    chance: random.Random = field(init=False)
    claim: Claim = field(init=False)
    row: Elicitation = field(init=False)
    answer: Answer = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.claim = Claim(ISSUER, f"person-{self.seed}")
        params = {"provider": "bad", "scopes": []}
        self.row, _ = elicitations.create(self.agent, Question("oauth", self.claim, "May I?", params))
        url = elicitations.begin(self.row.pk, self.claim, "browser", "press")
        self.provider.user = {"sub": f"account-{self.seed}"}
        self.answer = Answer(self.provider.visit(url or ""))

    def redeem(self, usual: Route) -> Route:
        """The provider takes its time and mostly gives tokens; now and then it refuses, or has a bad moment."""
        delay, reply = self.chance.choice([0, 0.002, 0.005]), self.chance.choice(REPLIES)

        def answer(request: Request) -> Response:
            time.sleep(delay)
            return reply or usual(request)

        return answer

    def actors(self) -> list[Callable[[], object]]:
        """Two callbacks always, and some of those who would rather end it; each after its own short delay."""
        others = [self.cancel, self.decline, self.expire, self.sweep, self.reopen]
        chosen = self.chance.sample(others, self.chance.randint(1, 3))
        return [self.later(actor) for actor in [self.callback, self.callback, *chosen]]

    def later(self, actor: Callable[[], object]) -> Callable[[], object]:
        delay = self.chance.choice([0, 0, 0.001, 0.002, 0.004, 0.008])

        def act() -> object:
            time.sleep(delay)
            return actor()

        return act

    def callback(self) -> None:
        elicitations.resume("bad", self.answer, self.claim, "browser")

    def cancel(self) -> None:
        elicitations.cancel(elicitations.find(self.row.pk))

    def decline(self) -> None:
        elicitations.decline(self.row.pk, self.claim)

    def expire(self) -> None:
        Elicitation.objects.filter(pk=self.row.pk).update(expires_at=clock.now() - timedelta(seconds=1))
        elicitations.expire(elicitations.find(self.row.pk))

    def sweep(self) -> None:
        Elicitation.objects.filter(pk=self.row.pk).update(expires_at=clock.now() - timedelta(seconds=1))
        elicitations.sweep()

    def reopen(self) -> None:
        """The worker finds it settling for so long that whoever was at it must be gone."""
        Elicitation.objects.filter(pk=self.row.pk).update(settling_since=clock.now() - timedelta(hours=1))
        elicitations.sweep()

    def check(self) -> str:
        row = Elicitation.objects.get(pk=self.row.pk)
        events = list(Event.objects.filter(elicitation=row).order_by("position"))
        types = [event.type.rpartition(".")[2] for event in events]
        assert row.status in TERMINAL or types[-2:] == ["settling", "started"], (row.status, types)
        assert types[-1] == row.status, types
        assert [found for found in types if found in TERMINAL] == [row.status] * (row.status in TERMINAL), types
        assert row.status != "failed" or "started" not in types[types.index("settling") :], types
        assert [event.seq for event in events] == list(range(1, row.seq + 1))
        kept = Connection.objects.filter(iss=ISSUER, sub=self.claim.sub)
        assert kept.count() == (row.status == "completed"), (row.status, kept.count())
        issued = [one for one in list(self.provider.tokens.values()) if one.user == {"sub": f"account-{self.seed}"}]
        assert len(issued) <= 1
        assert [one.live for one in issued if one.live] == [True] * (row.status == "completed")
        return str(row.status)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with loopback_allowed(), Provider() as started:
        yield started


@pytest.fixture
def agent(on_postgres: str, provider: Provider) -> Agent:
    identity = IdentityProvider.objects.create(slug="corp", issuer=ISSUER, client_id="x")
    row = ProviderRow(
        slug="bad", name="Bad", client_id=provider.client_id, authorize_url=f"{provider.url}/authorize",
        token_url=f"{provider.url}/token", revocation_url=f"{provider.url}/revoke", scopes=["openid"],
    )  # fmt: skip
    vault.seal_client_secret(row, Secret(provider.client_secret or ""))
    row.save()
    agent = Agent.objects.create(slug="bot", name="Bot", key_hash=ids.digest("k" * 40), key_hint="k")
    agent.identity_providers.add(identity)
    return agent


def _close(start: threading.Barrier) -> None:
    start.wait(10)
    connections.close_all()


def test_t27_in_any_order_there_is_one_end_told_once_and_kept_only_when_it_completed(agent: Agent, provider: Provider):
    usual, seen = provider.routes()["/token"][1], set()
    with ThreadPoolExecutor(ACTORS) as pool:
        for seed in range(RUNS):
            run = Run(seed, agent, provider)

            provider.scripted["token"] = run.redeem(usual)
            errors = [future.exception() for future in [pool.submit(actor) for actor in run.actors()]]
            strange = [error for error in errors if error and not isinstance(error, EXPECTED)]
            assert not strange, (seed, strange)
            try:
                seen.add(run.check())
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
        start = threading.Barrier(ACTORS)
        list(pool.map(_close, [start] * ACTORS))
    assert seen == {"started", "completed", "cancelled", "declined", "expired", "failed"}
