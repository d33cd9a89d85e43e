"""I8 in a random history of payments with faults: what was taken is told, what was told was taken, once each.

The ways of a single payment are in ``stories``, the cases of what goes on in ``cases``. HISTORY_PAYMENTS, HISTORY_SEED
and HISTORY_SHAPE give another size, history and shape; see docs/contributing/tests.md.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.payments.history import cases, resting
from tests.payments.history.nemesis import Nemesis
from tests.payments.history.people import Paid
from tests.payments.history.playing import Player
from tests.payments.history.rules import check
from tests.payments.history.stories import LATER, WAYS, story
from tests.payments.history.world import Book, World
from tests.support.box import Box
from tests.support.op import Op
from tests.support.services import Postgres
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

PAYMENTS = int(os.environ.get("HISTORY_PAYMENTS", "300"))
SEED = os.environ.get("HISTORY_SEED") or secrets.token_hex(4)
SHAPE = os.environ.get("HISTORY_SHAPE", "embedded")
PLAYERS = 12


@pytest.fixture
def world(new_box: Callable[..., Box], postgres: Postgres, corp: Op, sink: Sink, tmp_path: Path) -> Iterator[World]:
    kept = Path(os.environ.get("HISTORY_FILE") or tmp_path / "history.jsonl")
    box = new_box(
        SHAPE, start=False, webs=2, database_url=postgres.database(),
        settings={"ELICIT_TRUSTED_PROXIES": "127.0.0.1"},
    )  # fmt: skip
    made = World(box, corp, sink, Book(kept))
    yield made.start()
    made.close()
    box.remove()


class Stage:
    """Players who take stories, and the second parts that have become due, until there are none."""

    def __init__(self, world: World) -> None:
        self.world, self.todo, self.later = world, deque(range(PAYMENTS)), deque[Paid]()
        self.failures: list[BaseException] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self.play, args=(number,)) for number in range(PLAYERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def play(self, number: int) -> None:
        player = Player(self.world, number, self.later)
        try:
            while self.turn(player):
                pass
        except BaseException as error:
            self.failures.append(error)
        finally:
            player.user.close()

    def turn(self, player: Player) -> bool:
        """False when there is nothing left to do."""
        try:
            paid = self.later.popleft()
        except IndexError:
            paid = None
        if paid and (paid.ready <= time.monotonic() or not self.todo):
            player.go_on(paid)
            return True
        if paid:
            self.later.appendleft(paid)
        try:
            number = self.todo.popleft()
        except IndexError:
            return False
        player.play(story(SEED, number))
        return True


@pytest.mark.limit(900 + PAYMENTS)
def test_i8_in_a_random_history_with_faults_money_is_taken_exactly_as_it_is_told(world: World) -> None:
    began = time.monotonic()
    stage = Stage(world)
    nemesis = Nemesis(world, SEED, lambda: PAYMENTS - len(stage.todo))
    nemesis.start()
    stage.run()
    played = time.monotonic()
    nemesis.stop()
    resting.come_to_rest(world, SEED, (played - began) / max(PAYMENTS, 1))
    rested = time.monotonic()
    for line in resting.final_lines(world):
        world.book.write(**line)
    found = check(world.book.lines)
    print(
        f"seed {SEED}: {PAYMENTS} payments in {played - began:.0f} s, at rest after {rested - played:.0f} s more; "
        f"{nemesis.met.total()} faults {dict(nemesis.met)}; {summary(world)}",
        file=sys.stderr,
    )
    assert stage.failures == []
    assert [line for line in world.book.lines if line["op"] == "broke"] == []
    assert found == [], f"HISTORY_SEED={SEED}: {world.book.path}\n" + "\n".join(map(str, found))


def summary(world: World) -> str:
    ops = Counter(line["op"] for line in world.book.lines)
    reused = sum(line["elicitation"]["reused"] for line in world.book.lines if line["op"] == "ended")
    ends = Counter(line["elicitation"]["status"] for line in world.book.lines if line["op"] == "ended")
    return f"{dict(ops)}, ended {dict(ends)}, {reused} of them by what was paid before"


def test_every_way_that_a_story_may_go_can_be_played() -> None:
    ways = [*WAYS, *LATER, *cases.MANDATES, *cases.SUBSCRIPTIONS, *cases.ORDERS]
    assert [name for name in ways if not callable(getattr(Player, name, None))] == ["nothing"]


def test_the_table_of_cases_is_what_is_played() -> None:
    listed = re.findall(r"^    (\d+) (\w+) ", str(cases.__doc__), re.MULTILINE)
    assert [name for _, name in listed] == [*cases.MANDATES, *cases.SUBSCRIPTIONS, *cases.ORDERS]
    assert [int(number) for number, _ in listed] == list(range(36, 36 + len(listed)))


def test_every_case_is_drawn() -> None:
    drawn = {story("a", number).way for number in range(5000)}
    assert drawn >= {*WAYS, *cases.MANDATES, *cases.SUBSCRIPTIONS, *cases.ORDERS}


def test_the_same_seed_draws_the_same_stories() -> None:
    assert [story("a", number) for number in range(50)] == [story("a", number) for number in range(50)]
    assert [story("a", number) for number in range(50)] != [story("b", number) for number in range(50)]
