"""Only one caller may act on an answer: a client that repeats its last request runs no tool twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta

import httpx2
import psycopg
import pytest
from django.db import transaction

from config.asgi import AGENT_SHARE
from elicit_flows.domain.status import OPEN, TERMINAL, Status
from elicit_flows.domain.values import Question
from elicit_flows.elicitations import creation
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Delivery, Elicitation, Event
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served

CONSUMED = (409, "already_consumed")


def keyed(key: str) -> dict[str, str]:
    return {"idempotency-key": key}


def ask(api: httpx2.Client, status: str = Status.COMPLETED, key: str = "call-17") -> str:
    """The id of an elicitation that was asked under ``key`` and stands so."""
    asked: str = api.post("/v1/elicitations", json=question(), headers=keyed(key)).json()["id"]
    Elicitation.objects.filter(pk=asked).update(status=status, finished_at=clock.now() if status in TERMINAL else None)
    return asked


def consume(api: httpx2.Client, asked: str, key: str | None = None) -> httpx2.Response:
    return api.post(f"/v1/elicitations/{asked}/consume", headers=keyed(key) if key is not None else None)


def told(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_t67_an_answer_is_acted_on_once_however_it_was(api: httpx2.Client, status: str) -> None:
    asked = ask(api, status)
    before = api.get(f"/v1/elicitations/{asked}").json()
    assert before["consumed_at"] is None
    first = consume(api, asked, "run-1")
    assert first.status_code == 200
    assert "idempotency-replayed" not in first.headers
    assert clock.now() - datetime.fromisoformat(first.json()["consumed_at"]) < timedelta(seconds=30)
    assert first.json() == {**before, "consumed_at": first.json()["consumed_at"]}
    assert told(consume(api, asked, "run-2")) == CONSUMED
    assert api.get(f"/v1/elicitations/{asked}").json() == first.json()
    assert api.get("/v1/elicitations").json()["data"] == [first.json()]


@pytest.mark.parametrize("status", sorted(OPEN))
def test_what_is_open_cannot_be_acted_on(api: httpx2.Client, status: str) -> None:
    asked = ask(api, status)
    before = Elicitation.objects.values().get()
    assert told(consume(api, asked, "run-1")) == (409, "not_over")
    assert Elicitation.objects.values().get() == before
    api.post(f"/v1/elicitations/{asked}/cancel")
    assert consume(api, asked, "run-1").status_code == 200, "the refusal used up nothing"


def test_what_is_overdue_is_over(api: httpx2.Client) -> None:
    asked = ask(api, Status.STARTED)
    Elicitation.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    answer = consume(api, asked)
    assert (answer.status_code, answer.json()["status"]) == (200, "expired")


def test_t67_a_lost_answer_may_be_asked_for_again(api: httpx2.Client) -> None:
    asked = ask(api)
    first, again = consume(api, asked, "run-1"), consume(api, asked, "run-1")
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert again.json() == first.json()
    for other in ("run-2", "RUN-1", None):
        assert told(consume(api, asked, other)) == CONSUMED


def test_t67_a_call_without_a_key_cannot_be_repeated(api: httpx2.Client) -> None:
    asked = ask(api)
    assert consume(api, asked).status_code == 200
    for other in (None, "run-1", "None"):
        assert told(consume(api, asked, other)) == CONSUMED


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb", "ключ"])
def test_t67_the_key_of_a_consume_is_visible_ascii(api: httpx2.Client, key: str) -> None:
    asked = ask(api)
    answer = api.post(f"/v1/elicitations/{asked}/consume", headers=[(b"idempotency-key", key.encode())])
    assert told(answer) == (400, "bad_request")
    assert consume(api, asked, "k" * 255).status_code == 200


def test_t67_the_next_create_under_the_key_asks_anew(api: httpx2.Client) -> None:
    asked = ask(api, key="call-17")
    replayed = api.post("/v1/elicitations", json=question(), headers=keyed("call-17"))
    assert (replayed.status_code, replayed.json()["id"]) == (200, asked), "until then it is the same"
    consume(api, asked, "run-1")
    anew = api.post("/v1/elicitations", json=question(message="Once more."), headers=keyed("call-17"))
    assert (anew.status_code, anew.json()["status"], anew.json()["consumed_at"]) == (201, "pending", None)
    assert anew.json()["id"] != asked
    assert consume(api, asked, "run-1").status_code == 200, "the retry is still one"
    assert told(consume(api, anew.json()["id"], "run-1")) == (409, "not_over")


def test_t67_a_key_that_is_freed_while_it_is_asked_under_asks_anew(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run uses the same key between the two looks of this one, and consumes the answer."""
    other, look, check = ask(api, key="another"), creation._earlier, creation._checked

    def other_has(key: str | None) -> None:
        Elicitation.objects.filter(pk=other).update(idempotency_key=key)

    def look_late(agent: Agent, question: Question) -> Elicitation | None:
        other_has(None)
        return look(agent, question)

    def check_long(agent: Agent, question: Question) -> creation.Asked:
        other_has("call-17")
        return check(agent, question)

    monkeypatch.setattr(creation, "_earlier", look_late)
    monkeypatch.setattr(creation, "_checked", check_long)
    anew = api.post("/v1/elicitations", json=question(), headers=keyed("call-17"))
    assert (anew.status_code, anew.json()["id"] != other) == (201, True)


def test_nothing_happened_to_the_user_so_nobody_is_told(api: httpx2.Client, known: Known) -> None:
    known.row.webhook_url = "http://127.0.0.1:9/hooks"
    known.row.save()
    asked = ask(api)
    counted = (1, 1, 1)
    assert (Event.objects.count(), Delivery.objects.count(), Elicitation.objects.get().seq) == counted
    assert consume(api, asked).status_code == 200
    assert (Event.objects.count(), Delivery.objects.count(), Elicitation.objects.get().seq) == counted


def last_retries(client: Callable[[], httpx2.Client], runs: int) -> list[str]:
    """Each does what a server of tools does for a retry: finds the question by the call's key, takes the answer, acts.

    What became of each: "acted", "too late" or the id of the question that it found unanswered.
    """

    def retry(number: int) -> str:
        with client() as api:
            found = api.post("/v1/elicitations", json=question(), headers=keyed("call-17")).raise_for_status().json()
            if found["status"] in OPEN:
                return str(found["id"])
            taken = consume(api, found["id"], f"run-{number}")
            assert taken.status_code == 200 or told(taken) == CONSUMED
        return "acted" if taken.status_code == 200 else "too late"

    with ThreadPoolExecutor(runs) as pool:
        return list(pool.map(retry, range(runs)))


def acted_once(client: Callable[[], httpx2.Client]) -> None:
    with client() as api:
        for number in range(1, 6):
            asked = ask(api)
            said = last_retries(client, 12)
            assert said.count("acted") == 1
            assert len(set(said) - {"acted", "too late", asked}) <= 1, "all who came later found one new question"
            assert asked not in said
            Elicitation.objects.update(status=Status.CANCELLED, finished_at=clock.now(), idempotency_key=None)
            assert Elicitation.objects.exclude(consumed_at=None).count() == number


def test_t67_of_many_last_retries_at_once_one_acts(served: Served, known: Known) -> None:
    acted_once(lambda: known.client(served.url))


@pytest.mark.slow
def test_t67_of_many_last_retries_at_once_one_acts_on_postgres(on_postgres: str, serve: Callable[..., Served]) -> None:
    served = serve()
    rows.provider()
    known = rows.agent()
    acted_once(lambda: known.client(served.url))


@contextmanager
def held(asked: str) -> Iterator[None]:
    """Within the block nobody else writes to the elicitation."""
    with transaction.atomic():
        Elicitation.objects.select_for_update().get(pk=asked)
        yield


def held_up(url: str) -> int:
    statement = b"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(url, autocommit=True) as looking:
        found = looking.execute(statement).fetchone()
    return int(found[0]) if found else 0


def test_t67_of_those_who_come_at_the_same_moment_one_wins(on_postgres: str, postgres_client: httpx2.Client) -> None:
    api, asked = postgres_client, ask(postgres_client)
    with ThreadPoolExecutor(AGENT_SHARE) as pool:
        with held(asked):
            answers = [pool.submit(consume, api, asked, f"run-{number}") for number in range(AGENT_SHARE)]
            until(lambda: held_up(on_postgres) == AGENT_SHARE, "all of them are at the row")
        statuses = sorted(answer.result().status_code for answer in answers)
    assert statuses == [200, *[409] * (AGENT_SHARE - 1)]
