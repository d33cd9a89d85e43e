"""Mandates with two web processes: fifty callers at once, and a process that is killed at each call to the provider."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Thread

import httpx2
import pytest

from tests.payments.racing import at_once, doors
from tests.payments.test_mandates import CREATE, bank_says, charge, given, intents, look, stands, told
from tests.payments.till import Json, Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = [pytest.mark.slow, pytest.mark.limit(240)]
CALLERS = 50


@pytest.fixture(scope="module")
def two_webs(new_box: Callable[..., Box]) -> Iterator[Box]:
    box = new_box("full", webs=2)
    yield box
    box.remove()


@pytest.fixture
def till(new_till: Callable[..., Till], two_webs: Box) -> Till:
    return new_till(two_webs)


def test_t193_fifty_callers_in_two_processes_never_exceed_a_limit_by_a_cent(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user, per_charge=700, per_day=3333, total=3333)
    amounts = [amount for amount, _ in zip(itertools.cycle((700, 333, 299)), range(CALLERS), strict=False)]
    with doors(till.box, "127.0.0.9") as through:
        calls = [
            partial(
                through.post, door, f"/v1/mandates/{mandate['id']}/charges",
                json={"amount": amount, "description": "A ticket"},
                headers={**till.agent_headers, "idempotency-key": f"call {door}"},
            )
            for door, amount in enumerate(amounts)
        ]  # fmt: skip
        answers = at_once(*calls)
    assert {one.status_code for one in answers} <= {201, 403}, [one.text for one in answers if one.is_server_error]
    made = [one.json() for one in answers if one.status_code == 201]
    for one in made:
        until(lambda one=one: stands(till, one) == "paid", "it is paid", timeout=60)
    taken = sum(amount for status, amount in intents(till, mandate) if status == "succeeded")
    assert taken == sum(one["amount"] for one in made) == look(till, mandate["id"])["used"]["total"]
    assert 3333 - 299 < taken <= 3333
    assert told(till).count("charged") == len(made) == len(intents(till, mandate))


@pytest.mark.parametrize(
    ("on", "outcome"),
    [(CREATE, "ok"), (CREATE, "requires_action"), ("GET /v1/payment_intents/*", "requires_action"),
     ("POST /v1/payment_intents/*/cancel", "requires_action")],
)  # fmt: skip
def test_t194_a_process_that_is_killed_at_a_call_leaves_one_charge(
    till: Till, http_user: HttpUser, on: str, outcome: str
) -> None:
    mandate = given(till, http_user)
    bank_says(till, mandate, outcome)
    before = faulty(till)
    till.stripe.order("fault", name="late_reply", on=on, hang=20.0)
    Thread(target=quietly, args=(till, mandate), daemon=True).start()
    until(lambda: faulty(till) > before, "the provider is asked", timeout=30)
    till.box.kill9("web")
    till.stripe.order("calm")
    till.box.restart("web")
    (made,) = till.agent.get(f"/v1/mandates/{mandate['id']}/charges").json()["data"]
    wanted = "paid" if outcome == "ok" else "requires_action"
    until(lambda: till.start() or stands(till, made) == wanted, "it is found", timeout=60)  # type: ignore[func-returns-value]
    assert intents(till, mandate) == [("succeeded" if outcome == "ok" else "canceled", 2000)]
    again = charge(till, mandate, 2000, "one")
    assert (again.status_code, again.json()["id"]) == (200, made["id"])


def faulty(till: Till) -> int:
    return sum(1 for one in till.stripe.state()["requests"] if one["fault"])


def quietly(till: Till, mandate: Json) -> None:
    with suppress(httpx2.HTTPError):
        charge(till, mandate, 2000, "one")
