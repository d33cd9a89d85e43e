"""F3: the web process is killed during a consent, a decline, a cancellation or the revocation of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.cast import ALICE
from tests.doubles.provider import Provider
from tests.faults.crashing import Crashing, cut
from tests.journey.stage import Json, Stage
from tests.support import rows
from tests.support.box import AgentClient
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

pytestmark = pytest.mark.slow

BEFORE, AFTER = "before", "after"
DUE = "UPDATE elicit_flows_connection SET upstream_next_at = created_at WHERE upstream = 'pending'"


@dataclass
class Acts:
    """Each act: ``prepare_…`` says what it is done to and how, ``…_stands`` whether it was done; else it fails."""

    stage: Stage
    user: HttpUser
    double: Provider
    tokens: list[str] = field(default_factory=list)

    def _page(self) -> Json:
        asked = self.stage.ask(provider="exact", reuse="never")
        self.user.open(asked["url"])
        self.user.carry_on("signin", "alice")
        return asked

    def prepare_consent(self) -> tuple[Json, Callable[[], httpx2.Response]]:
        asked, request = self._page(), self.user.form_request("continue")
        return asked, lambda: self.user.send(request)

    def prepare_decline(self) -> tuple[Json, Callable[[], httpx2.Response]]:
        asked, request = self._page(), self.user.form_request("decline")
        return asked, lambda: self.user.send(request)

    def prepare_cancel(self) -> tuple[Json, Callable[[], httpx2.Response]]:
        asked = self.stage.ask(provider="exact", reuse="never")
        return asked, lambda: self.stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")

    def prepare_revoke(self) -> tuple[Json, Callable[[], httpx2.Response]]:
        given = rows.grant(self.double)
        assert given.refresh_token
        self.tokens.append(given.access_token.reveal())
        body = {
            "subject": ALICE.subject(self.stage.corp.issuer), "provider": "exact", "account": {"id": self.tokens[-1]},
            "access_token": self.tokens[-1], "refresh_token": given.refresh_token.reveal(),
            "expires_at": "2030-01-01T00:00:00Z",
        }  # fmt: skip
        kept = self.stage.agent.post("/v1/connections", json=body)
        assert kept.status_code == 201, kept.text
        path = f"/v1/connections/{kept.json()['id']}"
        return dict(kept.json()), lambda: self.stage.agent.delete(path)

    def _stands(self, asked: Json, done: str) -> str:
        """The status and the events say the same."""
        said = self.stage.status(asked), self.stage.events(asked)
        assert said in (("pending", ["created"]), (done, ["created", done])), said
        return AFTER if said[0] == done else BEFORE

    def consent_stands(self, asked: Json) -> str:
        return self._stands(asked, "started")

    def decline_stands(self, asked: Json) -> str:
        return self._stands(asked, "declined")

    def cancel_stands(self, asked: Json) -> str:
        return self._stands(asked, "cancelled")

    def revoke_stands(self, kept: Json) -> str:
        status = self.stage.agent.get(f"/v1/connections/{kept['id']}").json()["status"]
        about = [one["type"] for one in self.stage.feed() if one["data"].get("id") == kept["id"]]
        told = [one for one in about if one != "connection.imported"]
        assert (status, told) in (("active", []), ("revoked", ["connection.revoked"]))
        return AFTER if status == "revoked" else BEFORE


@pytest.fixture
def acts(crashing: Crashing, quiet_agents: Callable[..., AgentClient], corp: Op, http_user: HttpUser) -> Iterator[Acts]:
    with Provider() as double:
        client = {"client_id": double.client_id, "client_secret": double.client_secret}
        table = {"slug": "exact", "name": "Exact", "issuer": double.url, "scopes": ["openid"], **client}
        crashing.box.apply({"provider": [table]})
        agent = quiet_agents(crashing.box, "importing", import_connections=True)
        yield Acts(Stage(crashing.box, agent, corp, corp), http_user, double)


@pytest.mark.parametrize("name", ["consent", "decline", "cancel", "revoke"])
@pytest.mark.limit(120)
def test_f3_however_far_it_got_it_was_done_or_it_was_not_and_may_be_done_again(
    crashing: Crashing, acts: Acts, name: str
) -> None:
    prepare: Callable[[], tuple[Json, Callable[[], httpx2.Response]]] = getattr(acts, f"prepare_{name}")
    stands: Callable[[Json], str] = getattr(acts, f"{name}_stands")
    crashing.renew()
    watched = [prepare(), prepare()]
    points = crashing.points([act for _, act in watched], crashing.speech, 4)
    assert [stands(thing) for thing, _ in watched] == [AFTER, AFTER]
    seen: list[tuple[bool, str]] = []
    for point in points:
        thing, act = prepare()
        with crashing.at(point):
            answered: Any = cut(act)
        seen.append((answered is not None, stands(thing)))
        again = act()
        assert again.status_code < 500, again.text
        assert stands(thing) == AFTER
    assert crashing.met(points)
    assert (True, BEFORE) not in seen, "what was answered was done"
    assert {(False, BEFORE), (False, AFTER)} <= set(seen), "some were killed before and some after the commit"
    if acts.tokens:
        acts.stage.sql(DUE)
        until(lambda: not any(map(acts.double.live, acts.tokens)), "the provider has been told of every one")
