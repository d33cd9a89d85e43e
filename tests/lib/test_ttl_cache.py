"""A cache in this process: what it keeps, and for how long."""

from __future__ import annotations

import time

from elicit_flows.lib.ttl_cache import TtlCache


def test_a_value_is_there_until_its_time_is_over() -> None:
    cache: TtlCache[str, int] = TtlCache(0.05, most=10)
    cache.put("a", 1)
    assert cache.get("a") == 1
    time.sleep(0.06)
    assert cache.get("a") is None
    assert cache.get("b") is None


def test_what_was_dropped_is_gone_and_the_rest_is_not() -> None:
    cache: TtlCache[str, int] = TtlCache(60, most=10)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.drop("a")
    cache.drop("never there")
    assert (cache.get("a"), cache.get("b")) == (None, 2)
    cache.clear()
    assert cache.get("b") is None


def test_it_never_keeps_more_than_the_most() -> None:
    cache: TtlCache[int, int] = TtlCache(float("inf"), most=3)
    for number in range(10):
        cache.put(number, number)
        assert sum(cache.get(one) is not None for one in range(10)) <= 3
    assert cache.get(9) == 9
