"""Which inputs of a sweep ``make test`` tries."""

from __future__ import annotations

from typing import Any

from tests.support.sweeps import pairs, spread, sweep


def quick(parameters: list[Any]) -> list[tuple[Any, ...]]:
    return [one.values for one in parameters if not one.marks]


def test_the_first_of_each_kind_is_quick_and_all_are_kept() -> None:
    found = sweep(["a1", "b1", "a2", "c1", "b2"], lambda name: name[0])
    assert [one.values for one in found] == [("a1",), ("b1",), ("a2",), ("c1",), ("b2",)]
    assert quick(found) == [("a1",), ("b1",), ("c1",)]


def test_so_many_of_a_list_are_quick_and_both_ends_are_among_them() -> None:
    found = spread([(number, "x") for number in range(10)], 4)
    assert len(found) == 10
    assert quick(found) == [(0, "x"), (3, "x"), (6, "x"), (9, "x")]
    assert quick(spread(["a", "b"])) == [("a",), ("b",)]


def test_of_pairs_each_value_is_in_a_quick_one() -> None:
    found = pairs("abc", "xy")
    assert len(found) == 6
    assert quick(found) == [("a", "x"), ("b", "y"), ("c", "x")]
