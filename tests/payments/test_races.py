"""The races of payments.md, section 5, on PostgreSQL and Redis with two web processes and two workers."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import psycopg
import pytest
import stripe

from tests.payments.racing import Doors, at_once, doors, waiting_for_locks
from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.till import SECRET, Json, Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

ROUNDS = 8


@pytest.fixture(scope="module")
def racing_box(new_box: Callable[..., Box]) -> Iterator[Box]:
    """Two web processes and two Celery workers, each of which does two things at a time."""
    box = new_box("full", webs=2)
    celery = ("-m", "celery", "-A", "config", "worker", "--concurrency=2", "--loglevel=INFO", "-n", "second@%h")
    second = box._process("second", *celery)
    second.start()
    second.wait_for_output(r"\bready\.", timeout=60)
    box.processes["second"] = second
    yield box
    box.remove()


@pytest.fixture
def till(new_till: Callable[..., Till], racing_box: Box) -> Till:
    return new_till(racing_box)


@pytest.fixture
def through(till: Till) -> Iterator[Doors]:
    """Each test comes from an address of its own: the limits for one address are not what is tried here."""
    with doors(till.box, f"127.0.0.{next(ADDRESSES)}") as found:
        yield found


ADDRESSES = itertools.count(10)
LATER = [0, *(0.02 * 2**number for number in range(ROUNDS - 1))]  # seconds that the agent is behind who pays


def check_all(till: Till, asks: list[Json]) -> None:
    """Each was completed once, paid once, told once."""
    settled(till)
    for asked in asks:
        till.becomes(asked, "completed", timeout=20)
        assert till.stands(asked) == ("completed", "paid", DONE)
        assert len(till.paid_at_stripe(asked)) == 1
    told = till.agent.get("/v1/events", params={"limit": 100}).json()["data"]
    assert len({event["id"] for event in told}) == len(told)


def signed(event: Json) -> dict[str, Any]:
    """What Stripe posts."""
    body = json.dumps(event).encode()
    signature = stripe.WebhookSignature.generate_signature_header(body.decode(), SECRET, int(time.time()))
    return {"content": body, "headers": {"stripe-signature": signature, "content-type": "application/json"}}


@pytest.mark.limit(120)
def test_case_3_the_webhook_and_the_return_at_the_same_moment(till: Till, through: Doors, http_user: HttpUser) -> None:
    asks = []
    till.stripe.order("weather", hold=True)
    for number in range(ROUNDS):
        asks.append(asked := till.ask())
        till.at_stripe(http_user, asked)
        back = go_away(till, http_user)
        answers = at_once(
            partial(through.get, number, back, http_user),
            partial(till.stripe.order, "release", order="fifo"),
        )
        assert answers[0].status_code == 303, answers[0].text
    check_all(till, asks)


@pytest.mark.limit(120)
def test_t102_one_event_ten_times_and_two_events_for_one_fact_all_at_once(
    till: Till, through: Doors, http_user: HttpUser
) -> None:
    """Case 6 and case 7, as a race."""
    asks = []
    till.stripe.order("weather", drop=True)
    for _ in range(ROUNDS):
        asks.append(asked := till.ask())
        till.at_stripe(http_user, asked)
        go_away(till, http_user)
        event = [one for one in till.stripe.state()["events"] if one["type"] == "checkout.session.completed"][-1]
        event = {name: value for name, value in event.items() if not name.startswith("_")}
        sent = [signed(event)] * 10 + [signed({**event, "id": f"{event['id']}_of_another_endpoint"})] * 10
        calls = [partial(through.post, door, "/inbound/sandbox", **one) for door, one in enumerate(sent)]
        assert {answer.status_code for answer in at_once(*calls)} == {200}
        kept = till.sql("SELECT count(*) FROM elicit_flows_inbound WHERE event_id LIKE %s", f"{event['id']}%")
        assert kept == [(2,)]
    check_all(till, asks)


@pytest.mark.limit(120)
def test_case_21_the_button_is_pressed_in_two_tabs_at_the_same_moment(
    till: Till, through: Doors, http_user: HttpUser
) -> None:
    asks = []
    for _ in range(ROUNDS):
        asks.append(asked := till.ask())
        presses = []
        for _tab in range(2):
            http_user.open(asked["url"])
            if http_user.page_name == "signin":
                http_user.carry_on("signin", "alice")
            presses += [http_user.form_request("continue")] * 2
        answers = at_once(*[partial(through.through, door, press, http_user) for door, press in enumerate(presses)])
        assert {answer.status_code for answer in answers} == {303}, [answer.text[:300] for answer in answers]
        pages = {answer.headers["location"] for answer in answers}
        assert len(pages) == 1
        assert len(till.opened_at_stripe(asked)) == 1
        assert till.events(asked) == ["created", "started"]
        http_user.open(pages.pop())
        http_user.press("pay")
    check_all(till, asks)


def paid(till: Till, user: HttpUser, **params: Any) -> Json:
    asked = till.ask(**params)
    till.pay(user, asked)
    return till.becomes(asked, "completed")


@pytest.mark.limit(120)
def test_case_29_several_refunds_at_once_never_give_back_more_than_was_paid(
    till: Till, through: Doors, http_user: HttpUser
) -> None:
    def refund(door: int, asked: Json, key: str) -> httpx2.Response:
        headers = till.agent_headers | {"idempotency-key": key}
        return through.post(door, f"/v1/payments/{till.payment_id(asked)}/refunds", json=BODY, headers=headers)

    asks = [paid(till, http_user) for _ in range(ROUNDS)]
    for number, asked in enumerate(asks):
        keys = ["one key"] * 6 if number % 2 else [f"key {one}" for one in range(6)]
        answers = at_once(*[partial(refund, door, asked, key) for door, key in enumerate(keys)])
        made = {answer.json()["id"] for answer in answers if answer.is_success}
        assert len(made) == 1, [answer.text for answer in answers]
        refused = [answer.status_code for answer in answers if not answer.is_success]
        assert refused == ([] if number % 2 else [422] * 5)
    for asked in asks:
        becomes_refunded(till, asked, 1500)
    settled(till)
    for asked in asks:
        assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.refunded"])
        (session,) = till.paid_at_stripe(asked)
        made_there = [
            one["amount"]
            for one in till.stripe.state()["refunds"]
            if one["payment_intent"] == session["payment_intent"]
        ]
        assert made_there == [1500]


def becomes_refunded(till: Till, asked: Json, amount: int) -> None:
    until(lambda: till.payment(asked)["amount_refunded"] == amount, f"{amount} went back", timeout=20)


BODY = {"amount": 1500, "reason": "A page was missing."}


@pytest.mark.limit(180)
def test_case_25_who_pays_while_the_agent_takes_it_back_has_paid_or_gets_it_back(
    till: Till, through: Doors, http_user: HttpUser
) -> None:
    """T105. In each round the agent's request comes a little later: before, during and after the provider's webhook."""
    asks = []
    for number in range(ROUNDS):
        asks.append(asked := till.ask(item=f"report {number}"))
        till.at_stripe(http_user, asked)
        press = http_user.form_request("pay")
        _, cancelled = at_once(
            partial(come_home, through, http_user, press, number),
            partial(cancel, through, till, asked, number + 1, after=LATER[number]),
        )
        assert cancelled in {200, 409}
    for asked in asks:
        until(partial(at_rest, till, asked), "it is over", timeout=30)
    settled(till)
    ends = [check_either(till, asked) for asked in asks]
    assert len(set(ends)) > 1, ends


def come_home(through: Doors, user: HttpUser, press: httpx2.Request, door: int) -> int:
    """Pays and comes back."""
    home = user.send(press)
    return through.get(door, home.headers["location"], user).status_code if home.status_code == 303 else 0


def cancel(through: Doors, till: Till, asked: Json, door: int, *, after: float = 0.0) -> int:
    time.sleep(after)
    return through.post(door, f"/v1/elicitations/{asked['id']}/cancel", headers=till.agent_headers).status_code


@pytest.mark.parametrize("end", ["cancel", "decline"])
def test_case_25_the_one_who_ends_it_and_the_news_that_it_is_paid_do_not_wait_for_each_other(
    till: Till, through: Doors, http_user: HttpUser, end: str
) -> None:
    """Both requests wait at the point where they meet, so they continue at the same time."""
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    decline = http_user.form_request("decline")
    till.at_stripe(http_user, asked)
    back = go_away(till, http_user)
    ends: dict[str, Callable[[], int]] = {
        "cancel": partial(cancel, through, till, asked, 0),
        "decline": lambda: declined(through, decline, http_user),
    }
    with ThreadPoolExecutor(2) as pool, psycopg.connect(till.box.database_url) as holder:
        holder.execute("SELECT 1 FROM elicit_flows_elicitation WHERE id = %s FOR UPDATE", [asked["id"]])
        ending = pool.submit(ends[end])
        until(lambda: waiting_for_locks(till) == 1, "the one who ends it waits")
        news = pool.submit(through.get, 1, back, http_user)
        until(lambda: waiting_for_locks(till) == 2, "and so does the news")
        holder.rollback()
    assert ending.result() in {200, 303}
    assert news.result().status_code == 303
    until(partial(at_rest, till, asked), "it is over", timeout=30)
    assert check_either(till, asked) == "given back"


def declined(through: Doors, press: httpx2.Request, user: HttpUser) -> int:
    return through.through(0, press, user).status_code


OVER = {"cancelled", "declined"}


def at_rest(till: Till, asked: Json) -> bool:
    status, payment, _ = till.stands(asked)
    ended = {"completed": {"paid"}}.get(status, {"closed", "refunded"} if status in OVER else set())
    return payment in ended


def check_either(till: Till, asked: Json) -> str:
    """Money came and stays with a completion, or it went back, or none came."""
    status, payment, events = till.stands(asked)
    paid = till.paid_at_stripe(asked)
    if status == "completed":
        assert (payment, len(paid), events) == ("paid", 1, DONE)
        return "completed"
    began = [event for event in events if event != "settling"]
    if not paid:
        assert (payment, began) == ("closed", ["created", "started", status])
        return "cancelled"
    assert (payment, len(paid)) == ("refunded", 1)
    assert began == ["created", "started", status, "payment.mismatch", "payment.refunded"]
    return "given back"


def test_what_may_be_used_once_is_used_once(till: Till, through: Doors, http_user: HttpUser) -> None:
    for number in range(5):
        asked = paid(till, http_user, item=f"ticket {number}", uses=1)
        path = f"/v1/entitlements/{asked['result']['entitlement']}/consume"
        use = partial(through.post, path=path, headers=till.agent_headers)
        answers = at_once(*[partial(use, door, json={"key": f"use {door}"}) for door in range(8)])
        assert sorted(answer.status_code for answer in answers) == [200, *[409] * 7]
