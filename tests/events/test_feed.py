"""F20, T95: a reader can reconstruct everything from the feed and from webhooks."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from django.db import connections, transaction

from elicit_flows import elicitations, events
from elicit_flows.domain.errors import WrongUser
from elicit_flows.domain.values import Claim
from elicit_flows.models import Event
from tests.events.posting import Hooked, deliver
from tests.support import rows, sink
from tests.support.moving import MovingClock
from tests.support.rows import Known, question
from tests.support.serving import Served
from tests.support.sink import Sink

WRITERS, EACH = 50, 4
Json = dict[str, Any]


def write(known: Known, dice: random.Random, start: threading.Barrier) -> None:
    """Some events, each committed some time after its position was taken; some are rolled back."""
    try:
        start.wait(20)
        for number in range(EACH + 2):
            with transaction.atomic():
                events.publish(known.row, "connection.refreshed", {"number": number})
                time.sleep(dice.uniform(0, 0.008))  # between the taking of the position and the commit
                transaction.set_rollback(number in {2, 4})
    finally:
        connections.close_all()


@pytest.fixture
def writing() -> Iterator[Callable[[Known], Future[None]]]:
    """Fifty writers at once; the future ends when all have."""
    with ThreadPoolExecutor(WRITERS + 1) as pool:

        def all_of_them(known: Known) -> None:
            start, dice = threading.Barrier(WRITERS), random.Random()
            for one in [pool.submit(write, known, dice, start) for _ in range(WRITERS)]:
                one.result()

        yield lambda known: pool.submit(all_of_them, known)


@pytest.fixture
def postgres_served(on_postgres: str, serve: Callable[..., Served]) -> Served:
    return serve()


def pages(api: httpx2.Client, until: Callable[[], bool], **query: object) -> list[Json]:
    """Everything, read page by page while it is written; once more after the end."""
    found: list[Json] = []
    cursor, last = "", False
    while True:
        page = api.get("/v1/events", params={"after": cursor, **query}).json()
        found += page["data"]
        cursor = page["cursor"]
        if last and not page["data"]:
            return found
        last = until()


def streamed(api: httpx2.Client, last_id: str, most: int) -> list[tuple[str, Json]]:
    """Ids and events of one stream, which is cut after ``most``."""
    found: list[tuple[str, Json]] = []
    headers = {"accept": "text/event-stream", **({"last-event-id": last_id} if last_id else {})}
    with api.stream("GET", "/v1/events", headers=headers) as answer:
        assert answer.status_code == 200
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            fields[name] = value
            if not line and "data" in fields:
                found.append((fields["id"], json.loads(fields["data"])))
                fields = {}
            if len(found) == most:
                break
    return found


def gapless(known: Known, seen: list[str]) -> None:
    """All that was committed, in its order, each once, at the positions 1, 2, 3, …"""
    kept = list(Event.objects.filter(agent=known.row).order_by("position").values_list("position", "id"))
    assert seen == [name for _, name in kept]
    assert [position for position, _ in kept] == list(range(1, WRITERS * EACH + 1))


@pytest.mark.slow
def test_f20_a_reader_beside_fifty_writers_sees_every_event_once(
    postgres_served: Served, writing: Callable[[Known], Future[None]]
) -> None:
    known = rows.agent()
    with known.client(postgres_served.url) as api:
        written = writing(known)
        seen = pages(api, written.done, limit=1000)
    written.result()
    gapless(known, [event["id"] for event in seen])


@pytest.mark.slow
def test_f20_a_reader_that_waits_for_each_page_sees_every_event_once(
    postgres_served: Served, writing: Callable[[Known], Future[None]]
) -> None:
    known = rows.agent()
    with known.client(postgres_served.url) as api:
        written = writing(known)
        seen = pages(api, written.done, wait=1)
    written.result()
    gapless(known, [event["id"] for event in seen])


@pytest.mark.slow
def test_f20_a_stream_that_is_cut_again_and_again_loses_and_repeats_nothing(
    postgres_served: Served, writing: Callable[[Known], Future[None]]
) -> None:
    known, dice = rows.agent(), random.Random()
    seen: list[str] = []
    with known.client(postgres_served.url) as api:
        written, last_id = writing(known), ""
        while len(seen) < WRITERS * EACH:
            part = streamed(api, last_id, min(dice.randint(1, 40), WRITERS * EACH - len(seen)))
            seen += [event["id"] for _, event in part]
            last_id = part[-1][0]
    written.result()
    gapless(known, seen)


def test_f20_a_wait_that_a_proxy_cut_short_is_taken_up_without_a_gap(served: Served) -> None:
    """The agent asks again with the seq that it knows, and hears at once what happened meanwhile."""
    rows.provider()
    with rows.agent().client(served.url) as api:
        asked = api.post("/v1/elicitations", json=question()).json()
        where = f"/v1/elicitations/{asked['id']}"
        with pytest.raises(httpx2.ReadTimeout):
            api.get(where, params={"wait": 20, "after_seq": asked["seq"]}, timeout=0.2)
        elicitations.decline(asked["id"], rows.ALICE_CLAIM)
        found = api.get(where, params={"wait": 20, "after_seq": asked["seq"]}, timeout=5).json()
    assert (found["status"], found["seq"]) == ("declined", 2)


def story(deliveries: list[sink.Delivery]) -> dict[str, list[str]]:
    """What an agent makes of webhooks in whatever order: one of each id, by seq, for each elicitation."""
    told: dict[str, dict[int, str]] = {}
    for event in {one.id: one.event for one in deliveries}.values():
        mine = told.setdefault(event["elicitation"], {})
        assert event["seq"] not in mine, "two events of one elicitation share a seq"
        assert event["data"]["seq"] == event["seq"]
        mine[event["seq"]] = event["type"].removeprefix("elicitation.")
    for mine in told.values():
        assert sorted(mine) == list(range(1, len(mine) + 1))
    return {name: [mine[seq] for seq in sorted(mine)] for name, mine in told.items()}


def test_t95_webhooks_in_any_order_and_more_than_once_tell_the_same_story(
    hooked: Hooked, served: Served, moving_clock: MovingClock, receiver: Sink
) -> None:
    """Every delivery is tried a second time, and all are shuffled."""
    rows.provider()
    receiver.cut(hooked.path, times=8)
    with hooked.known.client(served.url) as api:
        asked = [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(2)]
        deliver()
        with pytest.raises(WrongUser):
            elicitations.begin(asked[0], Claim(rows.ISSUER, "bob"), "browser", None)
        elicitations.decline(asked[0], rows.ALICE_CLAIM)
        api.post(f"/v1/elicitations/{asked[1]}/cancel")
        api.post(f"/v1/elicitations/{asked[1]}/cancel")
        for _ in range(8):
            deliver()
            moving_clock.forward(hours=24)
    got = hooked.received()
    assert len(got) == 8 + 5
    assert len({one.id for one in got}) == len({(one.id, one.body) for one in got}) == 5
    expected = {asked[0]: ["created", "refused", "declined"], asked[1]: ["created", "cancelled"]}
    for _ in range(20):
        random.shuffle(got)
        assert story(got) == expected
