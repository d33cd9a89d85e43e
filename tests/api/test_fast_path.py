"""The event loop answers some requests itself, exactly as Django would. It leaves all others to Django."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations, count
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError
from django.db.models import F

from elicit_flows.api import auth
from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock, http_answers, ids
from elicit_flows.models import Agent, Connection, ConnectionUse, Elicitation, Provider
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served
from tests.support.sweeps import spread
from tests.support.two_ways import Answer, Request, TwoWays

_numbers = count()


@dataclass
class Scene:
    """An agent of its own with a connection, whose token was fetched a moment ago, and a question under way."""

    known: Known = field(default_factory=rows.agent)
    provider: Provider = field(default_factory=lambda: rows.provider(slug=f"drive-{next(_numbers)}"))

    def __post_init__(self) -> None:
        claim = Claim(rows.ISSUER, f"user-{next(_numbers)}")
        self.connection = rows.connection(self.known, self.provider, claim=claim)
        self.tell(last_used_at=clock.now())
        self.asked = Elicitation.objects.create(
            agent=self.known.row, kind="form", iss=claim.iss, sub=claim.sub, message="« Ünïcode » 🎉",
            params={"a": [1, 2.5, None]}, metadata={"ß": "\u202e"}, expires_at=minutes(5),
        )  # fmt: skip

    def tell(self, **columns: Any) -> None:
        """Change the connection."""
        Connection.objects.filter(pk=self.connection.pk).update(**columns)

    def turn(self, **columns: Any) -> None:
        """Change the elicitation."""
        Elicitation.objects.filter(pk=self.asked.pk).update(**columns)

    @property
    def fetch(self) -> Request:
        kind = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        return Request("POST", f"/v1/connections/{self.connection.pk}/token", self.head + kind, b"{}")

    @property
    def get(self) -> Request:
        return Request("GET", f"/v1/elicitations/{self.asked.pk}", self.head)

    @property
    def head(self) -> list[tuple[bytes, bytes]]:
        return [(b"host", b"127.0.0.1:8000"), (b"authorization", f"Bearer {self.known.who.api_key}".encode())]

    def rows(self) -> list[object]:
        """All that a call may have changed."""
        models = (Agent, Connection, ConnectionUse, Elicitation)
        return [list(model._default_manager.order_by("pk").values()) for model in models]


def minutes(number: float) -> Any:
    return clock.now() + timedelta(minutes=number)


def of_agent(scene: Scene, **columns: Any) -> None:
    Agent.objects.filter(pk=scene.known.row.pk).update(**columns)


def ask_as_another(scene: Scene) -> None:
    """The key of the request is another agent's."""
    of_agent(scene, key_hash=ids.digest(ids.token()))
    other = Agent.objects.filter(pk=rows.agent().row.pk)
    other.update(key_hash=ids.digest(scene.known.who.api_key))


def another(scene: Scene) -> Elicitation:
    copy = Elicitation.objects.get(pk=scene.asked.pk)
    copy.pk = ids.name("el")
    copy.save(force_insert=True)
    return copy


Change = Callable[[Scene], object]
TOKENS: dict[str, tuple[Change, int, bool]] = {
    "fresh": (lambda scene: None, 200, True),
    "that never expires": (lambda scene: scene.tell(expires_at=None), 200, True),
    "bound to a key": (lambda scene: scene.tell(token_type="DPoP"), 200, True),
    "reported, not refused": (lambda scene: scene.tell(reported_generation=F("generation")), 200, True),
    "of a client of the user's own": (lambda scene: scene.tell(own_client=True, secrets="v1.k1.x"), 200, True),
    "with a note to write": (lambda scene: scene.tell(last_used_at=minutes(-1.1)), 200, False),
    "never used": (lambda scene: scene.tell(last_used_at=None), 200, False),
    "newer than its last use": (lambda scene: scene.tell(issued_at=minutes(0.5)), 200, False),
    "that soon expires": (
        lambda scene: scene.tell(issued_at=minutes(-60), expires_at=minutes(0.9), refresh_token=""), 200, False,
    ),
    "that expired": (lambda scene: scene.tell(expires_at=minutes(-1), refresh_token=""), 409, False),
    "gone": (lambda scene: scene.tell(access_token=""), 409, False),
    "that does not open": (lambda scene: scene.tell(access_token="v1.k.AAAA"), 503, False),
    "of a revoked connection": (lambda scene: scene.tell(status="revoked"), 410, False),
    "of a dead connection": (lambda scene: scene.tell(status="reauthorization_required"), 409, False),
    "withheld": (
        lambda scene: scene.tell(
            reported_generation=F("generation"), refresh_refusals=1, refused_since=minutes(-1),
            refresh_due_at=minutes(5), refresh_failures=1,
        ), 503, False,
    ),
    "that is none": (lambda scene: scene.tell(secrets="v1.k1.x"), 409, False),
    "typed": (lambda scene: scene.tell(provider=None), 409, False),
    "of a provider that is off": (
        lambda scene: Provider.objects.filter(pk=scene.provider.pk).update(enabled=False), 503, False,
    ),
    "of another agent": (ask_as_another, 404, False),
    "moved to another agent": (lambda scene: scene.tell(agent=rows.agent().row), 404, False),
    "that does not exist": (lambda scene: scene.connection.delete(), 404, False),
    "for who has to show the user's": (lambda scene: of_agent(scene, require_user_token=True), 403, False),
    "for who is switched off": (lambda scene: of_agent(scene, enabled=False), 401, False),
    "for who has another key": (lambda scene: of_agent(scene, key_hash=ids.digest(ids.token())), 401, False),
}  # fmt: skip
QUESTIONS: dict[str, tuple[Change, int, bool]] = {
    "pending": (lambda scene: None, 200, True),
    "settling beyond its time": (lambda scene: scene.turn(status="settling", expires_at=minutes(-1)), 200, True),
    "completed": (lambda scene: scene.turn(status="completed", result={}, expires_at=minutes(-1)), 200, True),
    "failed": (lambda scene: scene.turn(status="failed", error={"code": "x"}, finished_at=minutes(0)), 200, True),
    "consumed": (lambda scene: scene.turn(status="declined", consumed_at=minutes(0)), 200, True),
    "of an agent that shows users' tokens": (lambda scene: of_agent(scene, require_user_token=True), 200, True),
    "overdue": (lambda scene: scene.turn(expires_at=minutes(-1)), 200, False),
    "started and overdue": (lambda scene: scene.turn(status="started", expires_at=minutes(-1)), 200, False),
    "of several steps": (lambda scene: scene.turn(kind="steps"), 200, False),
    "a step": (lambda scene: scene.turn(parent=another(scene)), 404, False),
    "of another agent": (ask_as_another, 404, False),
    "that does not exist": (lambda scene: scene.asked.delete(), 404, False),
    "of who is switched off": (lambda scene: of_agent(scene, enabled=False), 401, False),
}  # fmt: skip


def check(ways: TwoWays, scene: Scene, request: Request) -> tuple[Answer, bool]:
    """Django's answer, and whether the loop gave one, which then is the same."""
    auth.remembered.clear()
    before = scene.rows()
    fast = ways.by_fast_path(request)
    assert scene.rows() == before, "the fast path writes nothing"
    django = ways.by_django(request)
    assert fast in (None, django)
    return django, fast is not None


def check_case(ways: TwoWays, case: tuple[Change, int, bool], of: Callable[[Scene], Request]) -> None:
    change, status, by_fast_path = case
    scene = Scene()
    request = of(scene)
    change(scene)
    answer, was_fast = check(ways, scene, request)
    assert (answer.status, was_fast) == (status, by_fast_path), answer.body


@pytest.mark.parametrize("name", spread(list(TOKENS), 10))
def test_t13_t64_t85_a_token_is_answered_as_django_answers_it(two_ways: TwoWays, name: str) -> None:
    check_case(two_ways, TOKENS[name], lambda scene: scene.fetch)


@pytest.mark.parametrize("name", QUESTIONS)
def test_t62_t64_an_elicitation_is_answered_as_django_answers_it(two_ways: TwoWays, name: str) -> None:
    check_case(two_ways, QUESTIONS[name], lambda scene: scene.get)


@pytest.mark.slow
@pytest.mark.limit(300)
def test_whatever_comes_together_is_answered_as_django_answers_it(two_ways: TwoWays) -> None:
    found = [0, 0]
    for table, call in ((TOKENS, "fetch"), (QUESTIONS, "get")):
        # Half of all pairs, in which each case comes with every second of the others.
        pairs = [pair for pair in combinations(range(len(table)), 2) if sum(pair) % 2 == 0]
        for one, other in [[list(table)[place] for place in pair] for pair in pairs]:
            scene = Scene()
            request: Request = getattr(scene, call)
            table[one][0](scene)
            table[other][0](scene)
            _, was_fast = check(two_ways, scene, request)
            found[was_fast] += 1
    assert min(found) > 10


def with_headers(request: Request, *more: tuple[bytes, bytes]) -> Request:
    """These instead of those with the same names."""
    names = {name for name, _ in more}
    return request._replace(headers=[*(one for one in request.headers if one[0] not in names), *more])


def without(request: Request, *names: bytes) -> Request:
    return request._replace(headers=[one for one in request.headers if one[0] not in names])


def with_body(request: Request, body: bytes, kind: bytes = b"application/json") -> Request:
    sized = with_headers(request, (b"content-length", str(len(body)).encode()), (b"content-type", kind))
    return sized._replace(body=body)


REQUESTS: dict[str, tuple[Callable[[Scene], Request], int, bool]] = {
    "a fetch without a body": (lambda scene: scene.fetch._replace(headers=scene.head, body=b""), 200, True),
    "a fetch with an empty body": (lambda scene: with_body(scene.fetch, b""), 200, True),
    "a client that says more": (
        lambda scene: with_headers(scene.get, (b"accept", b"*/*"), (b"origin", b"https://x.test")), 200, True,
    ),
    "another name of this host": (lambda scene: with_headers(scene.get, (b"host", b"LOCALHOST")), 200, True),
    "a host that is not ours": (lambda scene: with_headers(scene.get, (b"host", b"evil.test")), 400, False),
    "a host that is none": (lambda scene: with_headers(scene.fetch, (b"host", b"127.0.0.1/x")), 400, False),
    "two hosts": (lambda scene: scene.get._replace(headers=[*scene.head, (b"host", b"evil.test")]), 400, False),
    "no key": (lambda scene: without(scene.get, b"authorization"), 401, False),
    "a wrong key": (lambda scene: with_headers(scene.fetch, (b"authorization", b"Bearer nobody")), 401, False),
    "two keys": (lambda scene: scene.get._replace(headers=[*scene.head, (b"authorization", b"Bearer x")]), 401, False),
    "a cookie": (lambda scene: with_headers(scene.get, (b"cookie", b"a=1")), 200, False),
    "a cookie with NUL": (lambda scene: with_headers(scene.get, (b"cookie", b'a="\\000"')), 400, False),
    "a lifetime": (lambda scene: with_body(scene.fetch, b'{"min_ttl":0}'), 200, False),
    "an unknown field": (lambda scene: with_body(scene.fetch, b'{"a":1}'), 422, False),
    "another body of two bytes": (lambda scene: with_body(scene.fetch, b"[]"), 400, False),
    "half an object": (lambda scene: with_body(scene.fetch, b"{\xff"), 400, False),
    "another type": (lambda scene: with_body(scene.fetch, b"{}", b"text/plain"), 415, False),
    "no type": (lambda scene: without(scene.fetch, b"content-type"), 415, False),
    "a charset": (lambda scene: with_body(scene.fetch, b"{}", b"application/json; charset=utf-8"), 200, False),
    "a compressed body": (lambda scene: with_headers(scene.fetch, (b"content-encoding", b"gzip")), 415, False),
    "a body in chunks": (
        lambda scene: with_headers(without(scene.fetch, b"content-length"), (b"transfer-encoding", b"chunked")),
        200, False,
    ),
    "a get with a body": (lambda scene: with_body(scene.get, b"{}"), 200, False),
    "a query": (lambda scene: scene.get._replace(query=b"after_seq=1"), 200, False),
    "an unknown query": (lambda scene: scene.fetch._replace(query=b"a=1"), 422, False),
    "the wrong way round": (lambda scene: scene.get._replace(method="POST"), 405, False),
    "a token by GET": (lambda scene: scene.fetch._replace(method="GET"), 405, False),
    "a head": (lambda scene: scene.get._replace(method="HEAD"), 405, False),
    "a slash too many": (lambda scene: scene.get._replace(path=f"{scene.get.path}/"), 404, False),
    "an odd id": (lambda scene: scene.get._replace(path="/v1/elicitations/el_ä"), 404, False),
}  # fmt: skip


@pytest.mark.parametrize("name", spread(list(REQUESTS), 10))
def test_t59_t64_t68_t72_a_request_is_answered_as_django_answers_it(two_ways: TwoWays, name: str) -> None:
    make, status, by_fast_path = REQUESTS[name]
    scene = Scene()
    answer, was_fast = check(two_ways, scene, make(scene))
    assert (answer.status, was_fast) == (status, by_fast_path), answer.body


def test_t13_t62_what_comes_together_is_answered_for_who_asks(two_ways: TwoWays) -> None:
    """One SELECT reads what all of them ask for but the first, by id alone."""
    scene, other = Scene(), Scene()
    for mine, others in ((scene.fetch, other.fetch), (scene.get, other.get)):
        stranger = with_headers(mine, *other.head)
        answers = two_ways.together([stranger, mine, stranger, others, stranger])
        assert answers == [None, two_ways.by_django(mine), None, two_ways.by_django(others), None]
        assert two_ways.by_django(stranger).status == 404


def test_t87_a_token_of_another_agent_is_not_even_opened(two_ways: TwoWays, caplog: pytest.LogCaptureFixture) -> None:
    scene, other = Scene(), Scene()
    request = scene.fetch
    scene.tell(agent=rows.agent().row)  # whose seal does not fit any more
    assert two_ways.by_fast_path(request) is None
    fetched = two_ways.by_django(other.fetch)
    # The first is read alone, and those that come meanwhile together.
    assert two_ways.together([other.fetch, request, other.fetch]) == [fetched, None, fetched]
    assert "does not open" not in caplog.text


@pytest.mark.parametrize("log", [True, False])
def test_it_is_logged_as_django_logs_it(
    two_ways: TwoWays, settings: LazySettings, caplog: pytest.LogCaptureFixture, log: bool
) -> None:
    settings.ELICIT_LOG_REQUESTS = log
    scene = Scene()
    caplog.set_level(logging.INFO, logger="elicit_flows.web.middleware")
    said = []
    for answered in (two_ways.by_fast_path, two_ways.by_django):
        caplog.clear()
        assert answered(scene.get)
        lines = [dict(record.fields) for record in caplog.records if record.message == "answered"]  # type: ignore[attr-defined]
        for line in lines:
            assert line.pop("milliseconds") >= 0
        said.append(lines)
    expected = {"method": "GET", "path": scene.get.path, "status": 200}
    assert said == [[expected]] * 2 if log else [[]] * 2


@pytest.fixture
def scene(served: Served) -> Scene:
    return Scene()


def test_t64_a_key_that_is_taken_back_is_refused_within_a_second_however_often_it_asks(
    served: Served, scene: Scene
) -> None:
    with scene.known.client(served.url) as api:
        calls = [lambda: api.post(scene.fetch.path, json={}), lambda: api.get(scene.get.path)]
        assert [call().status_code for call in calls for _ in range(3)] == [200] * 6
        of_agent(scene, enabled=False)
        end = time.monotonic() + auth.REMEMBER
        while time.monotonic() < end:
            for call in calls:
                call()
            time.sleep(0.05)
        assert [call().status_code for call in calls] == [401, 401]


def test_t85_a_connection_that_was_just_revoked_gives_no_token(served: Served, scene: Scene) -> None:
    with scene.known.client(served.url) as api:
        assert api.post(scene.fetch.path, json={}).status_code == 200
        assert api.delete(f"/v1/connections/{scene.connection.pk}").status_code == 204
        assert api.post(scene.fetch.path, json={}).status_code == 410


def test_both_ways_are_counted_as_one_route(served: Served, scene: Scene) -> None:
    with scene.known.client(served.url) as api:
        for cookies in ({}, {"cookie": "a=1"}):
            assert api.post(scene.fetch.path, json={}, headers=cookies).status_code == 200
    [(_, answered)] = [one for one in http_answers.all_answered() if one[0][0].endswith("/token")]
    assert sum(answered.buckets) == 2


def test_t124_what_the_loop_answers_counts_among_an_agents_calls_under_way(
    committed: None, settings: LazySettings, serve: Callable[..., Served]
) -> None:
    """While nothing is read from the database, three wait and the fourth is refused."""
    settings.ELICIT_AGENT_IN_FLIGHT = 3
    served, scene = serve(), Scene()
    gate, hub = threading.Event(), served.service._waiting.hub
    assert hub
    with ThreadPoolExecutor(4) as pool, scene.known.client(served.url) as api:
        assert api.post(scene.fetch.path, json={}).status_code == 200
        held = served.service._reading.run("tokens", lambda: gate.wait(30))
        asyncio.run_coroutine_threadsafe(held, hub._loop)
        waiting = [pool.submit(api.post, scene.fetch.path, json={}) for _ in range(3)]
        until(lambda: served.service._limits._now[scene.known.row.pk] == 3, "three are under way")
        refused = api.post(scene.fetch.path, json={})
        gate.set()
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert [one.result(30).status_code for one in waiting] == [200, 200, 200]


def test_while_nothing_can_be_read_django_says_what_it_says(
    served: Served, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: object) -> None:
        raise OperationalError("the database is gone")

    with scene.known.client(served.url) as api:
        assert api.get(scene.get.path).status_code == 200
        monkeypatch.setattr("elicit_flows.lib.compiled_query.prepared_cursor", gone)
        answer = api.get(scene.get.path)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        monkeypatch.undo()
        assert api.get(scene.get.path).status_code == 200
