"""Creates that come at the same time are made together on the event loop, each as Django would make it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError

from elicit_flows import elicitations
from elicit_flows.api import auth
from elicit_flows.domain.values import Question
from elicit_flows.elicitations import agent_access, creation
from elicit_flows.lib import ids
from elicit_flows.models import Agent, Delivery, Elicitation, Event, Provider
from tests.support import rows
from tests.support.rows import Known
from tests.support.serving import Served
from tests.support.sweeps import spread
from tests.support.two_ways import Answer, Request, TwoWays

HOOK = "https://hooks.example.com/elicit"
BACK = "https://bot.example.com/back"
JSON = b"application/json"
FORM = {"schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
Make = Callable[[Known], Request]


@pytest.fixture(params=["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.slow)])
def ways(request: pytest.FixtureRequest) -> Iterator[TwoWays]:
    request.getfixturevalue("committed" if request.param == "SQLite" else "on_postgres")
    rows.provider()
    made = TwoWays()
    yield made
    made.close()


def head(known: Known) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"127.0.0.1:8000"), (b"authorization", f"Bearer {known.who.api_key}".encode())]


def raw(body: bytes, *more: tuple[bytes, bytes], kind: bytes = JSON) -> Make:
    sized = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more]
    return lambda known: Request("POST", "/v1/elicitations", [*head(known), *sized], body)


def asks(*more: tuple[bytes, bytes], **members: Any) -> Make:
    return raw(json.dumps(rows.question(**members)).encode(), *more)


def of(kind: str, **params: Any) -> Make:
    return asks(kind=kind, params=params)


def key(value: bytes) -> tuple[bytes, bytes]:
    return (b"idempotency-key", value)


def change(known: Known, **columns: Any) -> None:
    Agent.objects.filter(pk=known.row.pk).update(**columns)


def connected(known: Known) -> None:
    rows.connection(known, Provider.objects.get())


def asked_before(known: Known) -> None:
    """Another question, under a key."""
    params = {"provider": "drive", "scopes": ["files.read"]}
    elicitations.create(known.row, Question("oauth", rows.ALICE_CLAIM, "May I?", params, idempotency_key="one"))


Case = tuple[Callable[[Known], object], Make, int, bool]
CASES: dict[str, Case] = {
    "an account": (lambda known: None, asks(), 201, True),
    "a form": (lambda known: None, of("form", **FORM), 201, True),
    "a yes": (lambda known: None, of("confirm", detail="Delete 12 files"), 201, True),
    "a visit": (lambda known: None, of("link", url="https://docs.example.com/read", completion="by_agent"), 201, True),
    "a key": (lambda known: None, of("credentials", fields=[{"name": "key", "label": "Key"}]), 201, True),
    "all members": (
        lambda known: change(known, return_urls=[BACK]),
        asks(
            expires_in=60, return_url=BACK, locale="de", reuse="never", metadata={"ß": [1, None]},
            **{"return": "button"},
        ), 201, True,
    ),
    "under a key": (lambda known: None, asks(key(b"one")), 201, True),
    "under a key with spaces around": (lambda known: None, asks(key(b" one\t")), 201, True),
    "by one with a webhook": (lambda known: change(known, webhook_url=HOOK), asks(), 201, True),
    "by one who has to show the user's token": (
        lambda known: change(known, require_user_token=True), asks(), 201, True,
    ),
    "a form of one who is connected": (connected, of("form", **FORM), 201, True),
    "an account that is connected": (connected, of("oauth", provider="drive", scopes=[]), 201, False),
    "an account that is connected, anew": (connected, asks(reuse="never"), 201, False),
    "under a key that is known": (asked_before, asks(key(b"one")), 422, False),
    "under no key": (lambda known: None, asks(key(b" ")), 400, False),
    "under a key too long": (lambda known: None, asks(key(b"k" * 256)), 400, False),
    "by one with managed access": (lambda known: change(known, managed_access=True), asks(), 201, False),
    "an account to renew": (lambda known: None, of("oauth", provider="drive", connection="cn_x"), 422, False),
    "a server by its address": (lambda known: None, of("oauth", mcp="https://mcp.example.com/mcp"), 422, False),
    "a payment": (lambda known: None, of("payment", amount=100, currency="EUR", description="x"), 422, False),
    "several steps": (lambda known: None, asks(kind="steps", params={"steps": []}), 422, False),
    "an unknown kind": (lambda known: None, of("prayer"), 422, False),
    "an unknown provider": (lambda known: None, of("oauth", provider="drove"), 422, False),
    "of a stranger": (lambda known: None, asks(subject={"iss": "https://other.test", "sub": "alice"}), 422, False),
    "with a way back that is not registered": (lambda known: None, asks(return_url=BACK), 422, False),
    "told by e-mail": (lambda known: None, asks(notify=True), 422, False),
    "an unknown member": (lambda known: None, asks(colour="red"), 422, False),
    "too much metadata": (lambda known: None, asks(metadata={"a": "x" * 8000, "b": "x" * 200}), 422, False),
    "a password in a form": (
        lambda known: None, asks(kind="form", params=FORM, message="Type your password"), 422, False,
    ),
    "a long one": (lambda known: None, asks(message="m" * 2000, metadata={"a": "x" * 6500}), 201, False),
    "no JSON": (lambda known: None, raw(b"{"), 400, False),
    "no object": (lambda known: None, raw(b"[]"), 400, False),
    "a name twice": (lambda known: None, raw(b'{"kind": "form", "kind": "form"}'), 400, False),
    "NUL": (lambda known: None, asks(message="a\0b"), 400, False),
    "no UTF-8": (lambda known: None, raw(b'{"kind": "\xff"}'), 400, False),
    "another type": (lambda known: None, raw(b"{}", kind=b"text/plain"), 415, False),
    "a query": (lambda known: None, lambda known: asks()(known)._replace(query=b"a=1"), 422, False),
    "without a length": (
        lambda known: None, lambda known: (one := asks()(known))._replace(headers=[*one.headers[:-1]]), 201, False,
    ),
    "a wrong key": (lambda known: change(known, key_hash=ids.digest(known.row.slug)), asks(), 401, False),
}  # fmt: skip


EACH = {"id", "agent_id", "event_id", "elicitation_id", "created_at", "expires_at", "next_at"}  # another for every one


def written(known: Known) -> list[dict[str, Any]]:
    """What stands in the database of all that this agent asked."""
    found: list[dict[str, Any]] = []
    models: tuple[Any, ...] = (Elicitation, Event, Delivery)
    for model in models:
        for row in model.objects.filter(agent=known.row).values():
            lasts = row["expires_at"] - row["created_at"] if "expires_at" in row else None
            same = {name: value for name, value in row.items() if name not in EACH}
            found.append({**same, "lasts": lasts, "data": masked(row.get("data", {}))})
    return found


def masked(body: Any) -> Any:
    """A snapshot or an error, without the id and the times of a snapshot."""
    if "url" not in body:
        return body
    assert body["created_at"] < body["expires_at"]
    assert body["url"].count(body["id"]) == 1
    return {name: value for name, value in body.items() if name not in EACH | {"url"}}


def said(answer: Answer) -> tuple[int, dict[bytes, bytes], Any]:
    body = json.loads(answer.body)
    headers = dict(answer.headers)
    if answer.status == 201:
        assert headers.pop(b"location").decode() == f"/v1/elicitations/{body['id']}"
    del headers[b"content-length"]
    return answer.status, headers, masked(body)


@pytest.mark.parametrize("name", spread(list(CASES), 12))
def test_t12_t13_t59_t64_t68_a_create_is_answered_as_django_answers_it(ways: TwoWays, name: str) -> None:
    """One agent asks the event loop, and another, of whom all is the same, Django."""
    prepare, make, status, by_fast_path = CASES[name]
    one, other = rows.agent(), rows.agent()
    one.row.providers.set(Provider.objects.all())
    other.row.providers.set(Provider.objects.all())
    for each in (one, other):
        prepare(each)
    auth.remembered.clear()
    agent_access.forget()
    before = written(one)
    fast = ways.by_fast_path(make(one))
    django = ways.by_django(make(other))
    assert (django.status, fast is not None) == (status, by_fast_path), django.body
    if fast is None:
        assert written(one) == before
        return
    assert said(fast) == said(django)
    assert written(one) == written(other)


def test_what_comes_together_is_written_together_and_in_the_feed_without_a_gap(ways: TwoWays) -> None:
    known = rows.agent(webhook_url=HOOK)
    ways.by_fast_path(of("form", **FORM)(known))  # what is remembered for a second
    answers = ways.together([of("form", **FORM)(known)] * 40)
    ids = [json.loads(answer.body)["id"] for answer in answers if answer]
    assert len(set(ids)) == 40
    assert list(Event.objects.order_by("position").values_list("position", flat=True)) == list(range(1, 42))
    assert set(Event.objects.values_list("elicitation_id", flat=True)) >= set(ids)
    assert Delivery.objects.count() == 41
    for event in Event.objects.all():
        assert event.data["id"] == event.elicitation_id


def test_t67_of_two_under_one_key_one_is_created(ways: TwoWays) -> None:
    known = rows.agent()
    make = of("confirm", detail="Delete 12 files")(known)
    keyed = make._replace(headers=[*make.headers, key(b"one")])
    answers = ways.together([keyed, keyed])
    assert [bool(answer) for answer in answers] == [True, False]
    again = ways.by_django(keyed)
    assert (again.status, again.headers[b"idempotency-replayed"]) == (200, b"true")
    assert Elicitation.objects.count() == 1


def test_t62_one_that_is_wrong_does_not_spoil_those_beside_it(ways: TwoWays) -> None:
    known = rows.agent()
    good, of_no_kind, unreadable = of("form", **FORM)(known), of("prayer")(known), asks(colour="red")(known)
    answers = ways.together([unreadable, good, of_no_kind, good])
    assert [bool(answer) for answer in answers] == [False, True, False, True]
    assert Elicitation.objects.count() == 2


def test_a_key_that_another_process_has_just_used_leaves_all_to_django(
    ways: TwoWays, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = rows.agent()
    asked_before(known)
    seen = creation.Standing(0, 0, connected=False, known_key=False)
    monkeypatch.setattr(creation, "_standing", lambda agent, questions: [seen] * len(questions))
    other = of("form", **FORM)(known)
    assert ways.together([asks(key(b"one"))(known), other]) == [None, None]
    assert (Elicitation.objects.count(), Event.objects.count()) == (1, 1)


@pytest.mark.parametrize(
    ("name", "status"), [("events.publish_created", 503), ("elicitations.creation._standing", None)]
)
def test_t67_it_is_tried_again_by_django_only_if_nothing_can_have_been_created(
    ways: TwoWays, monkeypatch: pytest.MonkeyPatch, name: str, status: int | None
) -> None:
    def gone(*args: object) -> None:
        raise OperationalError("the database is gone")

    known = rows.agent()
    monkeypatch.setattr(f"elicit_flows.{name}", gone)
    answers = ways.together([of("form", **FORM)(known)] * 2)
    assert [answer and answer.status for answer in answers] == [status] * 2
    if answers[0]:
        assert json.loads(answers[0].body)["code"] == "unavailable"
        assert answers[0].headers[b"content-type"] == b"application/problem+json"
        assert answers[0].headers[b"retry-after"] == b"2"


@pytest.mark.parametrize("limit", ["OPEN_PER_PERSON", "OPEN_OF_ALL"])
def test_t12_as_many_are_open_for_one_person_as_django_allows(
    ways: TwoWays, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(creation, limit, 5)
    known = rows.agent()
    make = of("form", **FORM)(known)
    made = sum(answer is not None for answer in ways.together([make] * 4))
    assert made == 4
    assert ways.together([make] * 4) == [None] * 4
    assert [ways.by_django(make).status for _ in range(2)] == [201, 429]


def test_t124_an_agent_that_creates_without_end_leaves_room_for_another(
    committed: None, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the batch of one agent is stuck, and more of its creates wait, another agent's is answered."""
    stuck, gate = threading.Event(), threading.Event()
    slow, quick = rows.agent(), rows.agent()
    create_together = elicitations.create_together

    def held(agent: Agent, questions: Any) -> Any:
        if agent.pk == slow.row.pk:
            stuck.set()
            gate.wait(30)
        return create_together(agent, questions)

    served = serve()
    body = rows.question(kind="form", params=FORM)
    with ThreadPoolExecutor(8) as pool, slow.client(served.url) as one, quick.client(served.url) as other:
        for api in (one, other):
            assert api.post("/v1/elicitations", json=body).status_code == 201  # whose key is known then
        monkeypatch.setattr(elicitations, "create_together", held)
        waiting = [pool.submit(one.post, "/v1/elicitations", json=body) for _ in range(8)]
        assert stuck.wait(10)
        assert other.post("/v1/elicitations", json=body).status_code == 201
        gate.set()
        assert [each.result(30).status_code for each in waiting] == [201] * 8
    assert Elicitation.objects.filter(agent=slow.row).count() == 9
