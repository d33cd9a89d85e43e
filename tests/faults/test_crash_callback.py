"""F2: the web process is killed while a browser returns from the provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.doubles.provider import Provider
from tests.faults.crashing import Crashing, cut
from tests.journey.stage import Json, Stage
from tests.support.box import AgentClient
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

pytestmark = pytest.mark.slow

SETTLED_FOR = "3 minutes"  # longer than anybody may be at it


@pytest.fixture
def double(crashing: Crashing) -> Iterator[Provider]:
    with Provider() as provider:
        client = {"client_id": provider.client_id, "client_secret": provider.client_secret}
        table = {"slug": "exact", "name": "Exact", "issuer": provider.url, "scopes": ["openid"], **client}
        crashing.box.apply({"provider": [table]})
        yield provider


@dataclass
class Alice:
    """She connects a new account with each question, and comes back through a process that dies."""

    user: HttpUser
    stage: Stage
    double: Provider
    asked: dict[str, Json]

    def leave(self, account: str) -> str:
        """Where the provider sends her back to."""
        self.double.user = {"sub": account, "name": account}
        if account not in self.asked:
            self.asked[account] = self.stage.ask(provider="exact", reuse="never")
        with self.user.stopping_at(f"{self.stage.box.url}/callback/exact"):
            self.user.connect(self.asked[account]["url"], "alice")
            assert self.user.stopped, self.user.text
            return self.user.location

    def come_back(self, url: str) -> Any:
        return cut(lambda: self.user.get(url))

    def statuses(self) -> dict[str, str]:
        return {account: self.stage.status(asked) for account, asked in self.asked.items()}

    def accounts(self) -> list[str]:
        """Of the connections that there are."""
        return sorted(row["account"]["id"] for row in self.stage.connections())


@pytest.fixture
def alice(crashing: Crashing, quiet_agent: AgentClient, corp: Op, double: Provider, http_user: HttpUser) -> Alice:
    return Alice(http_user, Stage(crashing.box, quiet_agent, corp, corp), double, {})


@pytest.mark.limit(120)
def test_f2_however_far_a_callback_got_it_is_completed_or_may_be_begun_again(crashing: Crashing, alice: Alice) -> None:
    crashing.renew()

    def watched() -> Iterator[Callable[[], object]]:
        for number in range(2):
            yield partial(alice.come_back, alice.leave(f"watched-{number}"))

    calls = dict.fromkeys(("sendto", "recvfrom", *crashing.speech))
    points = crashing.points(watched(), calls, 5)
    for point in points:
        back = alice.leave(f"{point.call}-{point.nth}")
        with crashing.at(point):
            alice.come_back(back)
        reloaded = alice.come_back(back)
        assert reloaded.status_code == 303, reloaded.text
    assert crashing.met(points)

    statuses = alice.statuses()
    done = sorted(account for account, status in statuses.items() if status == "completed")
    lost = [account for account, status in statuses.items() if status == "settling"]
    assert len(done) + len(lost) == len(statuses)
    assert lost
    assert len(done) > 2
    assert alice.accounts() == done
    let_settling_age(alice.stage)
    crashing.renew()
    until(lambda: {alice.statuses()[account] for account in lost} == {"started"}, "the sweep has reopened them")
    assert alice.accounts() == done
    for account in lost:
        assert alice.come_back(alice.leave(account)).status_code == 303
    assert set(alice.statuses().values()) == {"completed"}
    assert alice.accounts() == sorted(alice.asked)
    check_each(alice)


def let_settling_age(stage: Stage) -> None:
    earlier = f"now() - interval '{SETTLED_FOR}'" if stage.on_postgres else f"datetime('now', '-{SETTLED_FOR}')"
    stage.sql(f"UPDATE elicit_flows_elicitation SET settling_since = {earlier} WHERE status = 'settling'")


def check_each(alice: Alice) -> None:
    """One completed event each, each token works, and the provider was shown each code once.

    Of a process that died while it sent, the provider has got a request without a form.
    """
    for asked in alice.asked.values():
        assert alice.stage.events(asked).count("completed") == 1
        alice.stage.check_invariants(asked)
        token = alice.stage.token(asked)
        assert token.status_code == 200, token.text
        assert alice.double.live(token.json()["access_token"])
    shown = [request.form["code"] for request in alice.double.seen("token") if request.form]
    assert len(shown) == len(set(shown))
    assert len(shown) >= len(alice.asked)
