"""F16: a payment provider that keeps everybody waiting is asked once in a while, the others as ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from elicit_flows.elicitations import payment
from elicit_flows.job_table import PAYMENTS
from elicit_flows.jobs import job_window, worker
from elicit_flows.kinds.payment.providers.base import Busy
from elicit_flows.kinds.payment.values import Account, Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout
from tests.settlement.conftest import Till
from tests.support import jobs, money
from tests.support.moving import MovingClock
from tests.support.process import until

DUE = 30  # payments of one account: more than its batches take
HANG = 300  # seconds: also on a busy machine longer than a test waits for the others


class Slow:
    """Answers for the account ``quick`` alone; whom it was asked for."""

    def __init__(self, till: Till) -> None:
        self.till = till
        self.asked: list[str] = []
        self.pause: Callable[[], object] = lambda: time.sleep(0.06)

    def fetch(self, account: Account, ref: str) -> Snapshot:
        self.asked.append(account.slug)
        if account.slug == "quick":
            return self.till.says(Checkout.objects.get(ref=ref), State.PAID)
        self.pause()
        raise Busy("The payment provider is not available. Try again.")


@pytest.fixture
def slow(till: Till, monkeypatch: pytest.MonkeyPatch) -> Slow:
    provider = Slow(till)
    monkeypatch.setattr(payment, "plug_in", lambda _: provider)
    monkeypatch.setattr(payment.slow_accounts, "slow", 0.05)
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
    while jobs.sweep_payments(limit=3):
        pass
    assert slow.asked == ["main", "quick"]
    assert till.stands(row) == ("completed", "paid")
    monkeypatch.setattr(payment.slow_accounts, "rest", -1.0)
    payment.slow_accounts.forget()
    assert jobs.sweep_payments() == 5, "the rest of them were not forgotten"


def test_f16_a_provider_that_says_no_at_once_is_not_left_alone(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment.slow_accounts, "slow", 10.0)
    for _ in range(3):
        till.open(till.ask())
    moving_clock.forward(seconds=61)
    assert jobs.sweep_payments() == 3
    assert slow.asked == ["main"] * 3


def test_t129_an_account_whose_provider_hangs_delays_its_own_payments_alone(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other providers are asked at the same time, in a thread of their own."""
    over = threading.Event()
    slow.pause = lambda: over.wait(HANG)
    till.known.row.payment_accounts.add(money.account("quick"))
    till.open(till.ask(account="main"))
    row = till.ask(account="quick")
    till.open(row)
    moving_clock.forward(seconds=61)
    job = worker.threads(["payments"])["payments"]
    job.wake()
    try:
        until(lambda: till.stands(row) == ("completed", "paid"), "it is paid", timeout=10)
        until(lambda: "main" in slow.asked, "the one that hangs is being asked")
        assert not over.is_set()
    finally:
        over.set()
        worker.stop([job])


def test_t129_a_payment_that_hangs_does_not_delay_the_others_of_its_account(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more of them than threads, and it is due first."""
    monkeypatch.setattr(payment.slow_accounts, "slow", 60.0)
    over, first = threading.Event(), threading.Lock()
    slow.pause = lambda: over.wait(HANG) if first.acquire(blocking=False) else None
    for _ in range(DUE):
        till.open(till.ask(account="main"))
    moving_clock.forward(seconds=61)
    job = worker.threads(["payments"])["payments"]
    job.wake()
    try:
        until(
            lambda: len(slow.asked) > DUE - job_window.BATCH, "all but those in its batch were asked about", timeout=20
        )
        assert not over.is_set()
    finally:
        over.set()
        worker.stop([job])
    assert len(slow.asked) <= DUE, "each once"


def test_t129_a_worker_that_is_told_to_stop_does_not_begin_the_rest_of_the_payments(
    till: Till, slow: Slow, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment.slow_accounts, "slow", 60.0)
    over = threading.Event()
    slow.pause = lambda: over.wait(HANG)
    for _ in range(DUE):
        till.open(till.ask(account="main"))
    moving_clock.forward(seconds=61)
    job = worker.threads(["payments"])["payments"]
    job.wake()
    until(lambda: len(slow.asked) == PAYMENTS.per_party, "as many are being asked about as may be")
    stopping = threading.Thread(target=worker.stop, args=([job],))
    stopping.start()
    time.sleep(0.5)  # it waits for those
    assert stopping.is_alive()
    over.set()
    stopping.join(10)
    assert not stopping.is_alive()
    assert len(slow.asked) == PAYMENTS.per_party
    left = Checkout.objects.filter(look_at__lte=clock.now()).count()
    assert left == DUE - PAYMENTS.per_party, "another worker does them"
