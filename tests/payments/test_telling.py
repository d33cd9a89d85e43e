"""The agent's receiver is down for an hour: every payment event arrives in the end, as it was, under the same id
(payments.md, section 5, case 34).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, State
from elicit_flows.models import Agent, Delivery, Payment
from tests.doubles.policy import loopback_allowed
from tests.settlement.conftest import Till
from tests.support import jobs, money, rows
from tests.support.moving import MovingClock
from tests.support.sink import Sink

TOLD = [
    *("elicitation.created", "elicitation.started", "elicitation.settling", "elicitation.completed"),
    *("payment.refunded", "payment.disputed"),
]


@pytest.fixture
def receiver() -> Iterator[Sink]:
    sink = Sink()
    with loopback_allowed():
        yield sink
    sink.close()


@pytest.fixture
def till(committed: None, receiver: Sink) -> Till:
    known, account = rows.agent(), money.account()
    Agent.objects.filter(pk=known.row.pk).update(webhook_url=receiver.url("/hooks"))
    known.row.refresh_from_db()
    known.row.payment_accounts.add(account)
    return Till(known, account)


def deliver() -> None:
    jobs.deliver()


def test_case_34_what_was_not_received_for_an_hour_is_sent_again_under_the_same_id(
    till: Till, receiver: Sink, moving_clock: MovingClock
) -> None:
    receiver.status("/hooks", 503)
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    refund, dispute = RefundSeen("re_1", 200, "done"), DisputeSeen("dp_1", 500, "open")
    till.hear(checkout, State.PAID, refunds=(refund,))
    till.hear(checkout, State.PAID, refunds=(refund,), disputes=(dispute,))
    for _ in range(60):
        deliver()
        moving_clock.forward(minutes=1)
    in_vain = Counter(one.id for one in receiver.received())
    assert len(in_vain) == len(TOLD)
    assert min(in_vain.values()) == max(in_vain.values()) == 4, "at once, then after 5 s, 5 min and 30 min"

    receiver.forget()
    moving_clock.forward(hours=2)
    deliver()
    moving_clock.forward(hours=80)
    deliver()
    arrived = {one.id: one.event for one in receiver.received()}
    assert arrived.keys() == in_vain.keys()
    assert len(receiver.received()) == len(TOLD), "each once more, and no more after that"
    feed = till.known.row.event_set.order_by("position")
    assert [event.type for event in feed] == TOLD
    assert [arrived[event.id] for event in feed] == [event.body() for event in feed], "as it was told at the time"
    assert arrived[feed[3].id]["data"]["result"]["payment"] == Payment.objects.get().pk
    assert arrived[feed[4].id]["data"]["refund"]["amount"] == 200
    assert arrived[feed[5].id]["data"]["payment"]["dispute"] == "open"
    assert till.stands(row) == ("completed", "paid")
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}


def test_case_34_who_had_received_it_and_was_not_believed_gets_the_same_id_again(
    till: Till, receiver: Sink, moving_clock: MovingClock
) -> None:
    """The answer to the webhook was lost. The agent recognises the event by its id, and handles it once."""
    receiver.cut("/hooks", times=4)
    row = till.ask()
    till.hear(till.open(row), State.PAID)
    for _ in range(3):
        deliver()
        moving_clock.forward(minutes=6)
    ids = Counter(one.id for one in receiver.received())
    assert (len(ids), sorted(ids.values())) == (4, [2, 2, 2, 2])
    assert till.told(row) == TOLD[:4]
    assert till.stands(row) == ("completed", "paid")
