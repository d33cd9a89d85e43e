"""F16: a payment provider that keeps everybody waiting is asked once in a while, the others as ever."""

from __future__ import annotations

import time

import pytest

from elicit_flows.flow import patience, paying, sweeping
from elicit_flows.kinds.payment.providers.base import Busy
from elicit_flows.kinds.payment.values import Account, Snapshot, State
from elicit_flows.models import Checkout
from tests.ledger.conftest import Till
from tests.support import money
from tests.support.moving import MovingClock


class Slow:
    """Answers for the account ``quick`` alone; whom it was asked for."""

    def __init__(self, till: Till) -> None:
        self.till = till
        self.asked: list[str] = []

    def fetch(self, account: Account, ref: str) -> Snapshot:
        self.asked.append(account.slug)
        if account.slug == "quick":
            return self.till.says(Checkout.objects.get(ref=ref), State.PAID)
        time.sleep(0.06)
        raise Busy("The payment provider cannot answer now. Try again.")


@pytest.fixture
def slow(till: Till, monkeypatch: pytest.MonkeyPatch) -> Slow:
    provider = Slow(till)
    monkeypatch.setattr(paying, "plug_in", lambda _: provider)
    monkeypatch.setattr(patience, "SLOW", 0.05)
    return provider


def test_f16_who_waits_for_a_slow_provider_does_not_wait_for_every_payment_of_it(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.known.row.payment_accounts.add(money.account("quick"))
    for _ in range(6):
        till.open(till.ask(account="main"))
    row = till.ask(account="quick")
    till.open(row)
    moving_clock.forward(seconds=61)
    while sweeping.sweep_payments(limit=3):
        pass
    assert slow.asked == ["main", "quick"]
    assert till.stands(row) == ("completed", "paid")
    monkeypatch.setattr(patience, "REST", -1.0)
    patience._resting.clear()
    assert sweeping.sweep_payments() == 5, "the rest of them were not forgotten"


def test_f16_a_provider_that_says_no_at_once_is_not_left_alone(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SLOW", 10.0)
    for _ in range(3):
        till.open(till.ask())
    moving_clock.forward(seconds=61)
    assert sweeping.sweep_payments() == 3
    assert slow.asked == ["main"] * 3
