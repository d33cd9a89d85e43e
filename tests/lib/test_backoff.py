"""Retry schedules and the circuit breaker, without what uses them."""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import pairwise

import pytest

from elicit_flows.lib import clock, ids
from elicit_flows.lib.backoff import CircuitBreaker, RetrySchedule
from elicit_flows.models import Connection
from elicit_flows.payments import cancellations, inbound_webhooks, refunds
from elicit_flows.vault import refresh_schedule, revocation

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def test_pauses_double_up_to_the_longest() -> None:
    schedule = RetrySchedule.doubling(SECOND, timedelta(seconds=10), most=6)
    assert [schedule.pause(failures).total_seconds() for failures in range(7)] == [1, 2, 4, 8, 10, 10, 10]
    assert [schedule.is_used_up(tries) for tries in (5, 6, 7)] == [False, True, True]


def test_a_schedule_without_a_limit_is_never_used_up() -> None:
    schedule = RetrySchedule.doubling(SECOND, HOUR)
    assert schedule.pause(10**6) == HOUR
    assert not schedule.is_used_up(10**6)


def test_listed_pauses_are_as_many_as_there_are_tries() -> None:
    schedule = RetrySchedule.of_seconds(0, 5, 300)
    assert [schedule.pause(failures).total_seconds() for failures in range(3)] == [0, 5, 300]
    assert (schedule.is_used_up(2), schedule.is_used_up(3)) == (False, True)


def test_jitter_spreads_tries_over_the_later_half_of_the_pause() -> None:
    schedule = RetrySchedule.doubling(HOUR, HOUR)
    assert (schedule.pause(0, 0.0), schedule.pause(0, 1.0), schedule.pause(0)) == (HOUR / 2, HOUR, HOUR)


def test_refreshes_that_failed_together_are_spread_and_each_keeps_its_time() -> None:
    began = clock.now()
    names = [ids.digest(str(number)) for number in range(200)]
    rows = [Connection(id=name, refresh_failures=99, refresh_started_at=began) for name in names]
    most = refresh_schedule.UNANSWERED.pause(99)
    spread = sorted((refresh_schedule.next_try(row) - began) / most for row in rows)
    assert 0.5 <= spread[0] < 0.525
    assert 0.975 < spread[-1] <= 1
    assert max(later - before for before, later in pairwise(spread)) < 0.05
    assert refresh_schedule.next_try(rows[7]) == refresh_schedule.next_try(rows[7])


@pytest.mark.parametrize(
    ("schedule", "about"),
    [
        (revocation.RETRIES, timedelta(days=2)),
        (inbound_webhooks.RETRIES, timedelta(days=1.5)),
        (refunds.RETRIES, timedelta(minutes=70)),
    ],
)
def test_how_long_the_tries_go_on_is_what_is_said_beside_them(schedule: RetrySchedule, about: timedelta) -> None:
    assert schedule.most is not None
    whole = sum((schedule.pause(failures) for failures in range(1, schedule.most)), timedelta())
    assert about * 0.9 < whole < about * 1.15


def test_a_cancellation_is_tried_for_ever() -> None:
    assert cancellations.RETRIES.most is None


def test_a_breaker_skips_whom_it_was_tripped_for_until_the_rest_is_over() -> None:
    breaker: CircuitBreaker[str] = CircuitBreaker(rest=0.05)
    breaker.trip("a")
    assert breaker.open_keys() == ["a"]
    time.sleep(0.06)
    assert breaker.open_keys() == []


def test_a_call_that_takes_long_trips_it_even_when_it_fails() -> None:
    breaker: CircuitBreaker[str] = CircuitBreaker(rest=60, slow=0.02)
    with breaker.timed("quick"):
        pass

    @breaker.timed("slow")
    def fails_late() -> None:
        time.sleep(0.03)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_late()
    assert breaker.open_keys() == ["slow"]
    breaker.forget()
    assert breaker.open_keys() == []
