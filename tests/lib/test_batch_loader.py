"""Keys that are asked for meanwhile are loaded together, and never before they were asked for."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError

from elicit_flows.lib.batch_loader import BatchLoader

Answer = Callable[[list[int]], dict[int, str]]


class Gate:
    """Answers with the numbers as texts, and notes the batches. ``closed``: the first group waits to be let through."""

    def __init__(self, *, closed: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.arrived, self.open = threading.Event(), threading.Event()
        if not closed:
            self.open.set()

    def __call__(self, numbers: list[int]) -> dict[int, str]:
        self.batches.append(numbers)
        self.arrived.set()
        self.open.wait(10)
        return {number: f"{number}" for number in numbers if number >= 0}


def loader(answer: Answer, most: int = 100) -> BatchLoader[int, str]:
    async def run(call: Callable[[], dict[int, str]]) -> dict[int, str]:
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, call)

    return BatchLoader(run, answer, most)


async def asked_while_one_is_loaded(gate: Gate, numbers: list[int], most: int = 100) -> list[str | None]:
    one = loader(gate, most)
    first = asyncio.create_task(one.load(0))
    await asyncio.to_thread(gate.arrived.wait, 10)
    others = [asyncio.create_task(one.load(number)) for number in numbers]
    await asyncio.sleep(0)
    gate.open.set()
    return [await first, *await asyncio.gather(*others)]


def test_what_comes_meanwhile_is_the_next_batch() -> None:
    gate = Gate(closed=True)
    assert asyncio.run(asked_while_one_is_loaded(gate, [1, 2, 3])) == ["0", "1", "2", "3"]
    assert gate.batches == [[0], [1, 2, 3]]


def test_the_same_key_is_loaded_again_after_it_was_asked_for_again() -> None:
    gate = Gate(closed=True)
    assert asyncio.run(asked_while_one_is_loaded(gate, [0])) == ["0", "0"]
    assert gate.batches == [[0], [0]], "what the first batch found may be older than the second question"


def test_a_batch_has_an_end() -> None:
    gate = Gate(closed=True)
    numbers = list(range(1, 8))
    assert asyncio.run(asked_while_one_is_loaded(gate, numbers, most=3)) == [str(number) for number in range(8)]
    assert gate.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_what_has_no_value_is_told_so() -> None:
    one = loader(Gate())
    assert asyncio.run(one.load(-1)) is None


def test_one_who_has_left_takes_nothing_from_the_others() -> None:
    gate = Gate(closed=True)

    async def play() -> str | None:
        one = loader(gate)
        first = asyncio.create_task(one.load(1))
        second = asyncio.create_task(one.load(2))
        await asyncio.to_thread(gate.arrived.wait, 10)
        first.cancel()
        gate.open.set()
        return await second

    assert asyncio.run(play()) == "2"


@pytest.mark.parametrize("error", [OperationalError("the secret reason"), RuntimeError("no thread")])
def test_an_error_leaves_its_batch_without_values_and_the_next_is_loaded(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def answer(numbers: list[int]) -> dict[int, str]:
        if 1 in numbers:
            raise error
        return {number: str(number) for number in numbers}

    async def play() -> list[str | None]:
        one = loader(answer)
        return [*await asyncio.gather(one.load(1), one.load(2)), await one.load(2)]

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(play()) == [None, None, "2"]
    assert type(error).__name__ in caplog.text
    assert "secret" not in caplog.text


def test_after_an_error_that_nobody_expected_the_others_are_loaded() -> None:
    gate = Gate(closed=True)

    def answer(numbers: list[int]) -> dict[int, str]:
        found = gate(numbers)
        return {} if numbers == [0] and found[1] else found

    async def play() -> list[str | None]:
        one, logged = loader(answer), []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context["exception"]))
        first = asyncio.create_task(one.load(0))
        await asyncio.to_thread(gate.arrived.wait, 10)
        others = [asyncio.create_task(one.load(number)) for number in (1, 2)]
        await asyncio.sleep(0)
        gate.open.set()
        found = [await first, *await asyncio.gather(*others)]
        gc.collect()
        assert [type(error) for error in logged] == [KeyError]
        return found

    assert asyncio.run(play()) == [None, "1", "2"]
