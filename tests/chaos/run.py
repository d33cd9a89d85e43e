"""One run: workers process flows while faults happen. Then all faults are removed and the result is checked."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from tests.chaos import nemesis, resting
from tests.chaos.agents import Listener
from tests.chaos.checker import check
from tests.chaos.flows import AGENTS, Flow, Json, flow
from tests.chaos.nemesis import Nemesis
from tests.chaos.people import Player
from tests.chaos.world import PLAYERS, World
from tests.payments.history.checker import Violation

HURRY = 5.0  # seconds between looks at who was cut off in the middle


@dataclass
class Report:
    seed: str
    flows: list[Flow]
    faults: Counter[str]
    restarted: Counter[str]
    lines: list[Json]
    violations: list[Violation]
    seconds: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        ended = Counter(line["elicitation"]["status"] for line in self.lines if line["op"] == "ended")
        kinds = Counter(one.kind for one in self.flows)
        events = sum(line["op"] == "position" for line in self.lines)
        hooks = sum(line["op"] == "signed" for line in self.lines)
        took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.seconds.items())
        return "\n".join([
            f"seed {self.seed}: {took}",
            f"flows {len(self.flows)} by kind: {_said(kinds)}",
            f"flows {ended.total()} by end: {_said(ended)}",
            f"faults {self.faults.total()} by kind: {_said(self.faults)}",
            f"processes that could not begin and were started again: {self.restarted.total()}",
            f"events {events}, webhooks received {hooks}",
            f"violations {len(self.violations)}",
            *(f"  {one}" for one in self.violations),
        ])  # fmt: skip


def _said(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


Prepare = Callable[[World], None]


def run(
    flows: int,
    faults: int,
    seed: str,
    *,
    prepare: Prepare = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """``prepare`` is done to the world before anything happens in it."""
    meant = [flow(seed, number) for number in range(flows)]
    began = time.monotonic()
    with World() as world:
        prepare(world)
        ready = time.monotonic()
        stage = Stage(world, meant, say)
        hand = Nemesis(world, nemesis.drawn(seed, faults), flows, lambda: stage.begun)
        listeners = [Listener(world, number) for number in range(AGENTS)]
        for listener in listeners:
            listener.start()
        hand.start()
        stage.play()
        hand.finish()
        played = time.monotonic()
        failures = [*stage.failures, *hand.failures]
        if failures:
            raise failures[0]
        hand.stop_keeping()
        say(f"played in {played - ready:.0f} s, now everything comes to rest")
        resting.come_to_rest(world)
        resting.catch_up(world, listeners)
        resting.collect(world, listeners)
    seconds = {"start": ready - began, "play": played - ready, "rest": time.monotonic() - played}
    return Report(seed, meant, hand.met, hand.restarted, world.lines, check(world.lines, meant), seconds)


class Stage:
    """Players who take flows until there are none."""

    def __init__(self, world: World, flows: list[Flow], say: Callable[[str], None]) -> None:
        self.world, self.say, self.flows = world, say, flows
        self.begun = self.done = 0
        self.failures: list[BaseException] = []
        self._todo, self._lock, self._over = iter(flows), threading.Lock(), threading.Event()

    def play(self) -> None:
        clock = threading.Thread(target=self._hurry, daemon=True)
        clock.start()
        players = [threading.Thread(target=self._play, args=(number,), daemon=True) for number in range(PLAYERS)]
        for player in players:
            player.start()
        for player in players:
            player.join()
        self.begun = len(self.flows) + 1  # whatever is to break breaks now
        self._over.set()
        clock.join()

    def _hurry(self) -> None:
        for number in itertools.count(1):
            if self._over.wait(HURRY):
                return
            try:
                resting.hurry_settling(self.world)
            except psycopg.OperationalError:  # it is one of those that are broken
                continue
            if number % 6 == 0:
                self.say(f"{self.done} of {len(self.flows)} flows done")

    def _play(self, number: int) -> None:
        player = Player(self.world, number)
        try:
            while (one := self._take()) is not None:
                self.world.write("flow", number=one.number, kind=one.kind, end=one.end, typed=one.typed)
                player.play(one)
                with self._lock:
                    self.done += 1
        except BaseException as error:
            self.failures.append(error)
        finally:
            player.close()

    def _take(self) -> Flow | None:
        with self._lock:
            self.begun += 1
            return next(self._todo, None)
