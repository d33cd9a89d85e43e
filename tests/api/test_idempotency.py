"""T67, F1: a create that is repeated makes one elicitation."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx2
import pytest

from elicit_flows.domain.values import Claim, Question
from elicit_flows.elicitations import creation
from elicit_flows.models import Agent, Elicitation, Event
from tests.support import rows
from tests.support.rows import Known, question
from tests.support.serving import Served


def keyed(key: str) -> dict[str, str]:
    return {"idempotency-key": key}


def test_t67_the_same_request_is_answered_with_the_same_elicitation(api: httpx2.Client) -> None:
    first = api.post("/v1/elicitations", json=question(), headers=keyed("k"))
    again = api.post("/v1/elicitations", json=question(), headers=keyed("k"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == first.json()
    assert Event.objects.count() == 1


def test_t67_the_replay_shows_how_it_stands_now(api: httpx2.Client) -> None:
    first = api.post("/v1/elicitations", json=question(), headers=keyed("k")).json()
    api.post(f"/v1/elicitations/{first['id']}/cancel")
    again = api.post("/v1/elicitations", json=question(), headers=keyed("k")).json()
    assert (again["id"], again["status"]) == (first["id"], "cancelled")


def test_t67_the_replay_of_what_is_overdue_says_that_it_expired(api: httpx2.Client) -> None:
    first = api.post("/v1/elicitations", json=question(), headers=keyed("k")).json()
    Elicitation.objects.update(expires_at="2020-01-01T00:00:00Z")
    again = api.post("/v1/elicitations", json=question(), headers=keyed("k")).json()
    assert (again["id"], again["status"]) == (first["id"], "expired")


def test_t67_blanks_around_the_header_are_not_part_of_the_key(api: httpx2.Client, served: Served) -> None:
    """RFC 9110, 5.5; the server's parser leaves those behind it, and httpx2 sends none."""
    api.post("/v1/elicitations", json=question(), headers=keyed("k"))
    headers = {"Authorization": api.headers["authorization"], "Content-Type": "application/json"}
    with closing(HTTPConnection(urlsplit(served.url).netloc)) as plain:
        plain.request("POST", "/v1/elicitations", json.dumps(question()), {**headers, "Idempotency-Key": "k \t "})
        assert plain.getresponse().status == 200


def test_t67_the_order_and_the_blanks_of_a_body_do_not_matter(api: httpx2.Client) -> None:
    body = question(metadata={"a": 1, "b": 2})
    api.post("/v1/elicitations", json=body, headers=keyed("k"))
    turned = {**dict(reversed(body.items())), "metadata": {"b": 2, "a": 1}}
    assert api.post("/v1/elicitations", json=turned, headers=keyed("k")).status_code == 200


def test_t67_a_member_with_its_default_is_as_good_as_none(api: httpx2.Client) -> None:
    """A later version knows more members: a retry across the upgrade is the same request."""
    api.post("/v1/elicitations", json=question(), headers=keyed("k"))
    said = json.dumps(question(), sort_keys=True, separators=(",", ":"))
    assert Elicitation.objects.get().fingerprint == hashlib.sha256(said.encode()).hexdigest()
    explicit = question(reuse="if_valid", metadata={}, return_url=None)
    assert api.post("/v1/elicitations", json=explicit, headers=keyed("k")).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"message": "Another."}, {"expires_in": 901}, {"metadata": {"a": 1}}, {"reuse": "never"},
        {"subject": {"iss": rows.ISSUER, "sub": "bob"}}, {"params": {"provider": "drive", "scopes": []}},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_t67_the_same_key_with_another_body_is_refused(api: httpx2.Client, change: dict[str, object]) -> None:
    api.post("/v1/elicitations", json=question(), headers=keyed("k"))
    answer = api.post("/v1/elicitations", json={**question(), **change}, headers=keyed("k"))
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert Elicitation.objects.count() == 1


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb", "ключ"])
def test_t67_a_key_is_visible_ascii(api: httpx2.Client, key: str) -> None:
    headers = [(b"idempotency-key", key.encode())]
    answer = api.post("/v1/elicitations", json=question(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


def test_t67_a_refused_request_leaves_its_key_unused(api: httpx2.Client) -> None:
    assert api.post("/v1/elicitations", json=question(kind="x"), headers=keyed("k")).status_code == 422
    assert api.post("/v1/elicitations", json=question(), headers=keyed("k")).status_code == 201


def fifty_at_once(url: str, known: Known) -> list[httpx2.Response]:
    """Of five, one may be answered on the event loop; those with a cookie are Django's, each in a thread of its own."""
    start = threading.Barrier(25)

    def one(number: int) -> httpx2.Response:
        with known.client(url) as api:
            start.wait(20)
            cookie = {"cookie": "a=1"} if number % 5 else {}
            return api.post("/v1/elicitations", json=question(), headers=keyed("k") | cookie)

    with ThreadPoolExecutor(25) as pool:
        return list(pool.map(one, range(50)))


def test_t67_who_inserts_later_than_another_gets_what_that_one_asked(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked for the key before either had inserted."""
    asked = Question("confirm", Claim(rows.ISSUER, "alice"), "May I?", {}, idempotency_key="k")
    look, others = creation._standing, []

    def look_early(agent: Agent, questions: Sequence[Question]) -> list[creation.Standing]:
        seen = look(agent, questions)
        monkeypatch.setattr(creation, "_standing", look)
        others.append(creation.create(agent, asked))
        return seen

    monkeypatch.setattr(creation, "_standing", look_early)
    mine = creation.create(known.row, asked)
    assert (others, mine) == ([(mine[0], False)], (mine[0], True))


def asked_once(answers: list[httpx2.Response]) -> None:
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (Elicitation.objects.count(), Event.objects.count()) == (1, 1)


def test_t67_fifty_at_once_ask_once(served: Served, known: Known) -> None:
    asked_once(fifty_at_once(served.url, known))


@pytest.mark.slow
def test_t67_fifty_at_once_ask_once_on_postgres(on_postgres: str, serve: Callable[..., Served]) -> None:
    served = serve()
    rows.provider()
    asked_once(fifty_at_once(served.url, rows.agent()))
