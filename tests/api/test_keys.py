"""The API key: T60, T64, T65, T72, T73, T74."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from django.core.cache.backends.locmem import LocMemCache

from elicit_flows.lib import rate_limits
from elicit_flows.models import Agent, Provider
from tests.api.described import Described
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider as Double
from tests.support import money, rows
from tests.support.rows import Known, question
from tests.support.serving import Served

Ask = Callable[..., httpx2.Response]
PLACES = ("/v1/elicitations", "/v1/events", "/v1/events?wait=1", "/v1/elicitations/el_x?wait=1")


@pytest.fixture(scope="module")
def connected() -> Iterator[httpx2.Client]:
    with httpx2.Client(trust_env=False, timeout=30) as api:
        yield api


@pytest.fixture
def ask(served: Served, connected: httpx2.Client) -> Ask:
    """``ask(path, **headers)``: a GET with these headers and no key of its own."""
    return lambda path, **headers: connected.get(served.url + path, headers=headers)


@pytest.mark.parametrize("path", PLACES)
def test_t64_the_key_is_taken_from_its_header_alone(ask: Ask, known: Known, path: str) -> None:
    key, mark = known.who.api_key, "&" if "?" in path else "?"
    tries = [
        ask(path),
        ask(f"{path}{mark}api_key={key}"),
        ask(f"{path}{mark}access_token={key}&authorization=Bearer%20{key}"),
        ask(path, cookie=f"authorization={key}; api_key={key}"),
        ask(path, **{"x-api-key": key}),
        ask(path, authorization=key),
        ask(path, authorization=f"Basic {key}"),
        ask(path, authorization="Bearer"),
        ask(path, authorization=f"Bearer {key[:-1]}"),
        ask(path, authorization=f"Bearer {key}0"),
        ask(path, authorization=f"Bearer {key.upper()}"),
        ask(path, authorization=f"Bearer {known.row.key_hash}"),
    ]
    for answer in tries:
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), answer.request.headers
        assert answer.headers["www-authenticate"] == "Bearer"
        assert key not in answer.text
    assert ask("/v1/elicitations", authorization=f"bearer {key}").status_code == 200


def test_t64_the_database_knows_the_key_by_its_hash_alone(known: Known) -> None:
    held = str(Agent.objects.filter(pk=known.row.pk).values().get())
    assert known.who.api_key not in held
    assert known.who.api_key[6:] not in held


PACE = 0.15  # seconds: in the second that is tried all keys together are refused less often than BAD_KEYS times


def test_t64_a_key_that_is_taken_back_is_refused_within_a_second(ask: Ask, drive_row: Provider) -> None:
    disabled, replaced, deleted = [rows.agent() for _ in range(3)]
    keys = [f"Bearer {one.who.api_key}" for one in (disabled, replaced, deleted)]
    tries = [(key, path) for key in keys for path in ("/v1/elicitations", "/v1/events?wait=0")]
    for key, path in tries:
        assert ask(path, authorization=key).status_code == 200
    Agent.objects.filter(pk=disabled.row.pk).update(enabled=False)
    Agent.objects.filter(pk=replaced.row.pk).update(key_hash="0" * 64)
    Agent.objects.filter(pk=deleted.row.pk).delete()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        for key, path in tries:
            ask(path, authorization=key)  # asking again and again must not keep it alive
        time.sleep(PACE)
    for key, path in tries:
        assert ask(path, authorization=key).status_code == 401


def test_t65_too_many_wrong_keys_are_slowed_down_and_nobody_else_is(ask: Ask, known: Known) -> None:
    other = rows.agent()
    answers = [ask(PLACES[n % 4], authorization=f"Bearer wrong-{n:040}") for n in range(100)]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [401] * rate_limits.BAD_KEYS.most + [429] * (100 - rate_limits.BAD_KEYS.most)
    for answer in answers[rate_limits.BAD_KEYS.most :]:
        assert answer.json()["code"] == "too_many_requests"
        assert int(answer.headers["retry-after"]) > 0
    for one in (known, other):
        assert ask("/v1/elicitations", authorization=f"Bearer {one.who.api_key}").status_code == 200


@pytest.mark.parametrize("path", PLACES[1:3])
def test_t60_a_forged_forwarding_header_does_not_reset_the_count(served: Served, path: str) -> None:
    elsewhere = httpx2.HTTPTransport(local_address="127.0.0.60")  # uvicorn itself believes 127.0.0.1
    statuses = []
    with httpx2.Client(transport=elsewhere, base_url=served.url, trust_env=False) as guesser:
        for n in range(2 * rate_limits.BAD_KEYS.most + 1):
            forged = {"x-forwarded-for": f"203.0.113.{n}", "x-real-ip": f"203.0.113.{n}"}
            headers = {"authorization": f"Bearer wrong-{n:040}", **forged}
            statuses.append(guesser.get(path, headers=headers).status_code)
    assert 429 in statuses


def test_t65_the_count_goes_on_when_redis_is_away(ask: Ask, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    def broken(*args: object, **options: object) -> None:
        raise ConnectionError("Redis is away")

    monkeypatch.setattr(LocMemCache, "add", broken)  # each thread has an object of its own
    statuses = [ask("/v1/events", authorization=f"Bearer {n:040}").status_code for n in range(70)]
    assert statuses[-1] == 429


@pytest.mark.parametrize("method", ["TRACE", "HEAD", "GET", "PUT", "PATCH", "OPTIONS", "CONNECT", "DELETE"])
def test_t72_a_token_is_given_to_a_post_alone(
    api: httpx2.Client, known: Known, drive_row: Provider, method: str
) -> None:
    held = rows.connection(known, drive_row).pk
    tricks = {"x-http-method-override": "POST", "x-http-method": "POST", "x-method-override": "POST"}
    if method == "CONNECT":  # no request for a path: uvicorn itself refuses it
        answer = api.request("CONNECT", f"/v1/connections/{held}/token", headers=tricks)
        assert answer.status_code >= 400
        return
    answer = api.request(method, f"/v1/connections/{held}/token", headers=tricks)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert method == "HEAD" or answer.json()["code"] == "method_not_allowed"


def test_t72_a_method_in_a_header_is_not_heard(api: httpx2.Client, known: Known, drive_row: Provider) -> None:
    asked, held = api.post("/v1/elicitations", json=question()).json()["id"], rows.connection(known, drive_row).pk
    deletes = {"x-http-method-override": "DELETE"}
    # The event loop answers the first, Django the second.
    assert api.get(f"/v1/elicitations/{asked}", headers=deletes).json()["status"] == "pending"
    assert api.get(f"/v1/connections/{held}", headers=deletes).json()["status"] == "active"
    assert api.get(f"/v1/connections/{held}").json()["status"] == "active"


def test_t74_no_answer_may_be_kept_by_a_cache(api: httpx2.Client, known: Known, drive_row: Provider) -> None:
    held = rows.connection(known, drive_row).pk
    for answer in (
        api.post(f"/v1/connections/{held}/token"), api.get("/v1/events", params={"wait": 0}),
        api.get("/v1/connections"), api.get("/v1/elicitations/none"), api.get("/v1/nothing"),
        api.get("/v1/events", params={"wait": "x"}), api.post("/v1/elicitations", content=b"{"),
    ):  # fmt: skip
        assert answer.headers["cache-control"] == "no-store", answer.request.url
    token = api.post(f"/v1/connections/{held}/token")
    assert (token.status_code, token.headers["pragma"]) == (200, "no-cache")


def test_t73_no_answer_holds_a_refresh_token_or_a_client_secret(
    new_client: Callable[..., httpx2.Client], described: Described
) -> None:
    """Every call that is described, made by an agent whose connection has just been refreshed."""
    with Double(client_secret="the-client-secret-of-t73") as double, loopback_allowed():
        Agent.objects.all().delete()
        row = rows.provider(double, slug="real")
        owner = rows.agent(webhook_url="http://127.0.0.1:9/hooks")
        held = rows.connection(owner, row, rows.grant(double))
        api = new_client(owner)
        rows.expire(held)
        refreshed = api.post(f"/v1/connections/{held.pk}/token", json={"min_ttl": 0})
        assert refreshed.json()["access_token"] in double.tokens
        asked = api.post("/v1/elicitations", json=question(params={"provider": "real"})).json()["id"]
        sent = api.get("/v1/webhooks/deliveries").json()["data"][0]["id"]
        paid = money.payment(owner, money.account())
        allowed = money.mandate(owner, money.account(slug="later", allow_mandates=True))
        names = {"elicitation_id": asked, "connection_id": held.pk, "delivery_id": sent, "payment_id": paid.pk,
                 "entitlement_id": money.entitlement(paid).pk, "question": "none", "protocol": "acp",
                 "path": "me", "mandate_id": allowed.pk, "charge_id": money.charge(allowed).pk,
                 "subscription_id": money.subscription(owner, paid.account).pk,
                 "authorization_id": money.authorization(owner, money.wallet()).pk}  # fmt: skip
        everything = refreshed.text
        for method, path in sorted(described.calls()):
            answer = api.request(method, path.format(**names), params={"wait": 0} if method == "GET" else None)
            everything += answer.text + str(answer.headers)
    secrets = {double.client_secret, *(one.refresh_token for one in double.tokens.values())}
    assert len(secrets) == 3
    assert held.pk in everything
    assert paid.pk in everything
    for secret in (*secrets, money.KEY, money.HOOK):
        assert str(secret) not in everything
