"""Rate limits: what is counted, for whom, and that junk does not push a count out: T126, T127."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from elicit_flows.lib import rate_limits

NOW = 1_800_000_000.0  # the beginning of a window, whatever its length in these tests


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """``clock.now`` is what time it is; no window turns over in the middle of a test unless it says so."""
    ticking = SimpleNamespace(now=NOW)
    monkeypatch.setattr(rate_limits, "time", SimpleNamespace(time=lambda: ticking.now))
    return ticking


def test_as_many_as_the_limit_are_let_through_in_each_window(clock: SimpleNamespace) -> None:
    assert [rate_limits.hit("a", 3, 60) for _ in range(5)] == [True, True, True, False, False]
    assert rate_limits.hit("b", 3, 60)
    clock.now += 60
    assert rate_limits.hit("a", 3, 60)


def test_t126_ten_thousand_other_names_do_not_push_a_count_out() -> None:
    """Django's own cache in memory forgets all but 300 names."""
    while rate_limits.hit("operator-name:root", 10, 300):
        pass
    for number in range(10_000):
        rate_limits.hit(f"operator-name:junk-{number}", 10, 300)
    assert not rate_limits.hit("operator-name:root", 10, 300)


def test_t126_more_names_than_there_is_room_for_push_out_each_other() -> None:
    counts = rate_limits.Counts(most=1000)
    for _ in range(10):
        counts.add("root", NOW + 300)
    for number in range(50_000):
        counts.add(f"junk-{number}", NOW + 300)
    assert counts.add("root", NOW + 300) == 11
    assert len(counts._counts) <= 1000


def test_what_is_over_makes_room_first(clock: SimpleNamespace) -> None:
    counts = rate_limits.Counts(most=100)
    for number in range(60):
        for _ in range(20):
            counts.add(f"old-{number}", NOW + 60)
    for number in range(40):
        counts.add(f"young-{number}", NOW + 300)
    clock.now += 61
    counts.add("one more", NOW + 300)
    assert set(counts._counts) == {f"young-{number}" for number in range(40)} | {"one more"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"),
        ("2001:0db8:0001:0002::1", "2001:db8:1:2::9"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_t127_who_has_a_whole_network_to_choose_from_is_counted_once(one: str, other: str) -> None:
    assert rate_limits.hit_from(one, "code", 1, 60)
    assert not rate_limits.hit_from(other, "code", 1, 60)


@pytest.mark.parametrize(
    ("one", "other"),
    [("2001:db8:1:2::1", "2001:db8:1:3::1"), ("192.0.2.1", "192.0.2.2"), ("::ffff:192.0.2.1", "::ffff:192.0.2.2")],
)
def test_t127_others_are_counted_apart(one: str, other: str) -> None:
    assert rate_limits.hit_from(one, "code", 1, 60)
    assert rate_limits.hit_from(other, "code", 1, 60)


def test_what_is_no_address_is_counted_as_it_is() -> None:
    assert rate_limits.network("unknown") == "unknown"
    assert rate_limits.network("fe80::1%eth0") == "fe80::/64"


def test_limits_of_one_name_are_counted_for_each_by_itself_and_for_all_together() -> None:
    limit = rate_limits.RateLimit("tried", 2, 60)
    assert [limit.hit("one") for _ in range(2)] == [True, True]
    assert (limit.hit("other"), limit.hit(), limit.hit_from("203.0.113.7")) == (True, True, True)
