"""What an agent may take from one person: held when it asks, and free again when nothing comes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from elicit_flows import elicitations
from elicit_flows.domain.errors import OverLimit
from elicit_flows.domain.values import Claim, Question
from elicit_flows.kinds.payment.values import RefundSeen, State
from elicit_flows.models import Elicitation, Event, Payment, SpendLimit
from elicit_flows.payments import spend_limits
from tests.settlement.conftest import Till
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, ISSUER


def limit(till: Till, currency: str = "eur", **most: int) -> None:
    SpendLimit.objects.create(agent=till.known.row, currency=currency, **most)


def spent(till: Till) -> int:
    return spend_limits.spent(till.known.row, ALICE_CLAIM, "eur")


def test_an_agent_without_limits_may_ask_for_anything(till: Till) -> None:
    till.ask(amount=99_999_999)


def test_more_than_one_payment_may_be_is_refused_and_nothing_is_kept(till: Till) -> None:
    limit(till, per_payment=500)
    till.ask(amount=500)
    with pytest.raises(OverLimit, match=r"at most €5\.00 at a time"):
        till.ask(amount=501)
    assert Elicitation.objects.count() == Payment.objects.count() == 1


def test_what_may_still_be_paid_counts_as_spent(till: Till) -> None:
    limit(till, per_day=1000)
    till.ask(amount=600)
    with pytest.raises(OverLimit, match=r"at most €10\.00 from one person in 24 hours; €4\.00 is left"):
        till.ask(amount=401)
    till.ask(amount=400)
    assert spent(till) == 1000


def test_another_currency_is_no_way_round_and_saving_a_card_costs_nothing(till: Till) -> None:
    limit(till, per_day=1000)
    with pytest.raises(OverLimit, match="may take payments in eur, not in usd"):
        till.ask(amount=1, currency="usd")
    till.ask(amount=0, mode="save", currency="usd")


def test_each_person_and_each_agent_is_counted_alone(till: Till) -> None:
    limit(till, per_day=500)
    till.ask()
    wanted = {"amount": 500, "currency": "eur", "description": "A report"}
    elicitations.create(till.known.row, Question("payment", Claim(ISSUER, "bob"), "Pay, please.", wanted))
    with pytest.raises(OverLimit):
        till.ask(amount=1)


@pytest.mark.parametrize("end", ["cancel", "decline", "expire", "page"])
def test_what_ends_unpaid_is_free_again(till: Till, moving_clock: MovingClock, end: str) -> None:
    limit(till, per_day=500)
    row = till.ask()
    if end == "cancel":
        elicitations.cancel(row)
    elif end == "decline":
        elicitations.decline(row.pk, ALICE_CLAIM)
    elif end == "expire":
        moving_clock.forward(hours=1)
        assert elicitations.expire(row)
    else:
        checkout = till.open(row)
        elicitations.cancel(row)
        assert till.stands(row) == ("cancelled", "open"), "its page may still be paid"
        with pytest.raises(OverLimit):
            till.ask()
        till.hear(checkout, State.EXPIRED)
    assert till.stands(row)[1] == "closed"
    assert spent(till) == 0
    till.ask()


def test_what_was_given_back_is_free_again_and_what_was_paid_is_after_a_day(
    till: Till, moving_clock: MovingClock
) -> None:
    limit(till, per_day=500)
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    assert spent(till) == 500
    till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 200, "done"),))
    assert spent(till) == 300
    moving_clock.forward(hours=25)
    assert spent(till) == 0


def test_a_refusal_is_told_to_those_who_look_after_the_agent(till: Till) -> None:
    limit(till, per_payment=100)
    with pytest.raises(OverLimit) as refused:
        till.ask(amount=101)
    [event] = Event.objects.all()
    assert event.type == "payment.over_limit"
    assert event.data == {
        "subject": {"iss": ISSUER, "sub": "alice"}, "amount": 101, "currency": "eur", "problem": refused.value.detail,
    }  # fmt: skip


def test_two_that_ask_at_once_do_not_both_get_the_last(till: Till) -> None:
    limit(till, per_day=1000)
    together = threading.Barrier(8)

    def ask(_: int) -> bool:
        try:
            together.wait(10)
            till.ask(amount=300)
        except OverLimit:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == 3
    assert spent(till) == 900
