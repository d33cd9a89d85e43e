"""F10, F11: Redis is emptied, killed or slow. The service gets slower, and works."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from elicit_flows.lib.rate_limits import BAD_KEYS
from tests.faults.conftest import Fragile
from tests.journey.stage import Stage
from tests.support.http_user import HttpUser
from tests.support.machine import within
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

QUICK = 2.0  # seconds: the second that a silent Redis may take, and the request itself
BEAT = 5.0  # seconds between what beat sends


@pytest.fixture
def stage(fragile: Fragile, corp: Op, drive: Op) -> Stage:
    return Stage(fragile.box, fragile.box.fresh_agent(), corp, drive)


def flush(fragile: Fragile) -> None:
    fragile.redis.flush()


def kill(fragile: Fragile) -> None:
    fragile.redis.kill9()


def replace(fragile: Fragile) -> None:
    fragile.redis.kill9()
    fragile.redis.start()


@pytest.mark.parametrize("harm", [flush, replace, kill])
@pytest.mark.limit(90)
def test_f10_whatever_happens_to_redis_at_every_step_the_way_is_gone_to_its_end(
    fragile: Fragile, stage: Stage, http_user: HttpUser, sink: Sink, harm: Callable[[Fragile], None]
) -> None:
    asked = stage.ask()
    harm(fragile)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(stage.agent.get, f"/v1/elicitations/{asked['id']}?wait=60&after_seq=2")
        with http_user.stopping_at(stage.corp.issuer):
            http_user.open(asked["url"])
            http_user.press("signin")
        harm(fragile)
        http_user.follow()
        http_user.carry_on("alice")
        assert http_user.page_name == "consent", "the sign-in that was under way and the session are not in Redis"
        harm(fragile)
        callback = stage.answer(http_user, asked)
        harm(fragile)
        http_user.open(callback)
        assert (http_user.page_name, http_user.page_status) == ("done", "completed")
        assert waiting.result(timeout=70).json()["status"] in {"settling", "completed"}
    harm(fragile)
    assert stage.works(stage.token(asked))
    assert stage.events(asked) == ["created", "started", "settling", "completed"]
    stage.check_invariants(asked)
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "account"
    if not fragile.redis.process.alive:
        fragile.redis.restart()
    for event in ("created", "started", "settling", "completed"):
        sink.wait_for_event(f"/{stage.agent.slug}", f"elicitation.{event}", asked["id"], timeout=40)


@pytest.mark.parametrize("harm", ["killed", "silent"])
def test_f10_without_redis_the_api_answers_within_about_a_second_and_every_event_arrives(
    fragile: Fragile, stage: Stage, harm: str
) -> None:
    stage.ask()
    fragile.redis.kill9() if harm == "killed" else fragile.redis.pause()
    calls: list[Callable[[], httpx2.Response]] = [
        stage.try_to_ask,
        lambda: stage.agent.get("/v1/elicitations"),
        lambda: stage.agent.get("/readyz"),
        lambda: httpx2.get(f"{stage.box.url}/v1/events", headers={"authorization": "Bearer wrong"}, trust_env=False),
        stage.try_to_ask,
    ]
    for call, expected in zip(calls, (201, 200, 200, 401, 201), strict=True):
        began = time.monotonic()
        assert call().status_code == expected
        assert time.monotonic() - began < within(QUICK)
    assert stage.events() == ["created"] * 3


def pause_clients(fragile: Fragile) -> None:
    """It takes every command and answers none for a while, as one that is at work on something long."""
    with fragile.redis.client() as client:
        client.execute_command("CLIENT", "PAUSE", 10_000, "ALL")


def stop(fragile: Fragile) -> None:
    """As behind a network that swallows everything: nothing comes back, not even a refusal."""
    fragile.redis.pause()


@pytest.mark.parametrize("harm", [pause_clients, stop])
@pytest.mark.limit(90)
def test_f11_while_redis_is_slow_every_request_is_answered_in_about_a_second_more_and_a_flow_goes_on(
    fragile: Fragile, stage: Stage, http_user: HttpUser, sink: Sink, harm: Callable[[Fragile], None]
) -> None:
    stage.ask()
    asked = stage.ask()
    harm(fragile)
    calls: list[Callable[[], httpx2.Response]] = [
        stage.try_to_ask,
        lambda: stage.agent.get("/v1/elicitations"),
        lambda: stage.agent.get("/v1/events"),
        lambda: stage.agent.get(f"/v1/elicitations/{asked['id']}?wait=1"),
        lambda: stage.agent.get("/readyz"),
        lambda: httpx2.get(f"{stage.box.url}/c/{asked['id']}", trust_env=False, timeout=30),
    ]
    for call in calls:
        began = time.monotonic()
        assert call().status_code < 300
        assert time.monotonic() - began < within(QUICK + 1)
    stage.complete(http_user, asked)
    fragile.redis.resume()
    assert stage.works(stage.token(asked))
    sink.wait_for_event(f"/{stage.agent.slug}", "elicitation.completed", asked["id"], timeout=40)


def test_f10_a_waiter_at_another_process_is_told_though_no_wake_up_comes(fragile: Fragile, stage: Stage) -> None:
    asked = stage.ask()
    fragile.redis.kill9()
    url = f"{fragile.box.urls[1]}/v1/elicitations/{asked['id']}?wait=20"
    with (
        ThreadPoolExecutor(1) as pool,
        httpx2.Client(headers=stage.agent.headers, trust_env=False, timeout=40) as other,
    ):
        waiting = pool.submit(other.get, url)
        until(lambda: not waiting.done() and stage.status(asked) == "pending", "somebody waits")
        began = time.monotonic()
        stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
        assert waiting.result(timeout=20).json()["status"] == "cancelled"
        assert time.monotonic() - began < within(4)


def test_f10_without_redis_guessing_keys_is_stopped_all_the_same(fragile: Fragile, stage: Stage) -> None:
    fragile.redis.kill9()
    with httpx2.Client(headers={"authorization": "Bearer guessed"}, trust_env=False, timeout=30) as stranger:
        answers = [stranger.get(f"{stage.box.url}/v1/elicitations").status_code for _ in range(2 * BAD_KEYS.most + 2)]
    assert answers[0] == 401
    # A minute may begin meanwhile, and the count with it: then the rest of them is enough.
    assert 429 in answers
    assert answers.index(429) >= min(BAD_KEYS.most, answers.count(401)) // 2
    assert set(answers) == {401, 429}
    assert stage.agent.get("/v1/elicitations").status_code == 200, "the right key is not locked out"
